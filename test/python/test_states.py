# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New states are written in the buffers of the arguments that they replace."""

import numpy as np

from run_bundle import Bundle

# A function named as a copy kernel might be, whose update cannot be computed in
# place: the kernels that it is cut into must not be mistaken for the copy.
REVERSE = """
func.func @copy(%a: tensor<4xf32> {neoflow.state = "a"}) -> (tensor<4xf32> {neoflow.new_state = 0}) {
  %r = neoflow.compute (%i) from (%a: tensor<4xf32>) -> tensor<4xf32> {
    %v = neoflow.read %a[3 - %i] : tensor<4xf32>
    neoflow.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
"""


def test_update_through_a_copy(tool, tmp_path):
    (tmp_path / "copy.mlir").write_text(REVERSE)
    tool("neoflow-compile", tmp_path / "copy.mlir", "-o", tmp_path / "copy.nfb")
    state = np.arange(4, dtype=np.float32)
    (result,) = Bundle(tmp_path / "copy.nfb").call("copy", [state])
    assert result.tolist() == [3, 2, 1, 0]
