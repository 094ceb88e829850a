// A capsule network (Sabour et al., 2017) on 28 x 28 images of 10 classes.
//
// 9 x 9 convolution to 64 channels with ReLU; 9 x 9 convolution of stride 2 to 8
// types of capsules of 8 dimensions, 288 capsules in all; every capsule predicts
// each of 10 class capsules of 16 dimensions; three rounds of routing by agreement,
// all of them inside the gradient; margin loss on the lengths of the class capsules.
// Pixels come as bytes, 0 to 255; the expression scales them.
//
//   neoflow-compile capsnet.mlir -o capsnet.nfb
//   neoflow-run train capsnet.nfb --data fashion-mnist --epochs 2

module attributes {neoflow.optimizer = "adam", neoflow.learning_rate = 0.001, neoflow.default_dims = {batch = 20}} {

// The class capsules. Squash, which occurs four times: a vector keeps its direction,
// and its length becomes n / (1 + n) for the square n of its length. A small constant
// keeps the root differentiable at zero.
func.func private @capsules(
    %x: tensor<?x28x28xf32>,
    %w1: tensor<64x1x9x9xf32>,
    %b1: tensor<64xf32>,
    %w2: tensor<8x8x64x9x9xf32>,
    %b2: tensor<8x8xf32>,
    %w3: tensor<288x10x16x8xf32>) -> tensor<?x10x16xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x28x28xf32>

  // Bytes to numbers from zero to one.
  %image = neoflow.compute (%n = %batch, %c, %h, %w) from (%x: tensor<?x28x28xf32>) -> tensor<?x1x28x28xf32> {
    %a = neoflow.read %x[%n, %h, %w] : tensor<?x28x28xf32>
    %scale = arith.constant 0.00392156862745098 : f32
    %v = arith.mulf %a, %scale : f32
    neoflow.yield %v : f32
  }

  // 9 x 9 convolution, 64 channels, ReLU.
  %conv1_sum = neoflow.compute (%n = %batch, %k, %p, %q) sum (%c = 1, %r = 9, %s = 9)
      from (%image: tensor<?x1x28x28xf32>, %w1: tensor<64x1x9x9xf32>) -> tensor<?x64x20x20xf32> {
    %a = neoflow.read %image[%n, %c, %p + %r, %q + %s] : tensor<?x1x28x28xf32>
    %f = neoflow.read %w1[%k, %c, %r, %s] : tensor<64x1x9x9xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %conv1 = neoflow.compute (%n = %batch, %k, %p, %q)
      from (%conv1_sum: tensor<?x64x20x20xf32>, %b1: tensor<64xf32>) -> tensor<?x64x20x20xf32> {
    %a = neoflow.read %conv1_sum[%n, %k, %p, %q] : tensor<?x64x20x20xf32>
    %f = neoflow.read %b1[%k] : tensor<64xf32>
    %v = arith.addf %a, %f : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %relu = arith.select %positive, %v, %zero : f32
    neoflow.yield %relu : f32
  }

  // 9 x 9 convolution of stride 2: type t, dimension d of a capsule.
  %primary_sum = neoflow.compute (%n = %batch, %t, %d, %p, %q) sum (%c = 64, %r = 9, %s = 9)
      from (%conv1: tensor<?x64x20x20xf32>, %w2: tensor<8x8x64x9x9xf32>) -> tensor<?x8x8x6x6xf32> {
    %a = neoflow.read %conv1[%n, %c, %p * 2 + %r, %q * 2 + %s] : tensor<?x64x20x20xf32>
    %f = neoflow.read %w2[%t, %d, %c, %r, %s] : tensor<8x8x64x9x9xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %primary = neoflow.compute (%n = %batch, %t, %d, %p, %q)
      from (%primary_sum: tensor<?x8x8x6x6xf32>, %b2: tensor<8x8xf32>) -> tensor<?x8x8x6x6xf32> {
    %a = neoflow.read %primary_sum[%n, %t, %d, %p, %q] : tensor<?x8x8x6x6xf32>
    %f = neoflow.read %b2[%t, %d] : tensor<8x8xf32>
    %v = arith.addf %a, %f : f32
    neoflow.yield %v : f32
  }

  // Squash every primary capsule, and number the capsules: i stands for type
  // i / 36 at row (i / 6) mod 6 and column i mod 6.
  %primary_square = neoflow.compute (%n = %batch, %t, %p, %q) sum (%d = 8)
      from (%primary: tensor<?x8x8x6x6xf32>) -> tensor<?x8x6x6xf32> {
    %a = neoflow.read %primary[%n, %t, %d, %p, %q] : tensor<?x8x8x6x6xf32>
    %m = arith.mulf %a, %a : f32
    neoflow.yield %m : f32
  }
  %u = neoflow.compute (%n = %batch, %i, %d)
      from (%primary: tensor<?x8x8x6x6xf32>, %primary_square: tensor<?x8x6x6xf32>) -> tensor<?x288x8xf32> {
    %a = neoflow.read %primary[%n, %i floordiv 36, %d, (%i floordiv 6) mod 6, %i mod 6] : tensor<?x8x8x6x6xf32>
    %square = neoflow.read %primary_square[%n, %i floordiv 36, (%i floordiv 6) mod 6, %i mod 6] : tensor<?x8x6x6xf32>
    %small = arith.constant 1.0e-7 : f32
    %one = arith.constant 1.0 : f32
    %safe = arith.addf %square, %small : f32
    %length = math.sqrt %safe : f32
    %below = arith.addf %square, %one : f32
    %factor = arith.divf %length, %below : f32
    %v = arith.mulf %a, %factor : f32
    neoflow.yield %v : f32
  }

  // What capsule i predicts for class j.
  %prediction = neoflow.compute (%n = %batch, %i, %j, %e) sum (%d = 8)
      from (%u: tensor<?x288x8xf32>, %w3: tensor<288x10x16x8xf32>) -> tensor<?x288x10x16xf32> {
    %a = neoflow.read %u[%n, %i, %d] : tensor<?x288x8xf32>
    %f = neoflow.read %w3[%i, %j, %e, %d] : tensor<288x10x16x8xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }

  // Routing by agreement. The logits start at zero, so that the first coupling is
  // uniform.

  // Round 1.
  %sum1 = neoflow.compute (%n = %batch, %j, %e) sum (%i = 288)
      from (%prediction: tensor<?x288x10x16xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %prediction[%n, %i, %j, %e] : tensor<?x288x10x16xf32>
    %tenth = arith.constant 0.1 : f32
    %m = arith.mulf %a, %tenth : f32
    neoflow.yield %m : f32
  }
  %square1 = neoflow.compute (%n = %batch, %j) sum (%e = 16)
      from (%sum1: tensor<?x10x16xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %sum1[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %a : f32
    neoflow.yield %m : f32
  }
  %class1 = neoflow.compute (%n = %batch, %j, %e)
      from (%sum1: tensor<?x10x16xf32>, %square1: tensor<?x10xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %sum1[%n, %j, %e] : tensor<?x10x16xf32>
    %square = neoflow.read %square1[%n, %j] : tensor<?x10xf32>
    %small = arith.constant 1.0e-7 : f32
    %one = arith.constant 1.0 : f32
    %safe = arith.addf %square, %small : f32
    %length = math.sqrt %safe : f32
    %below = arith.addf %square, %one : f32
    %factor = arith.divf %length, %below : f32
    %v = arith.mulf %a, %factor : f32
    neoflow.yield %v : f32
  }

  // Round 2.
  %agreement2 = neoflow.compute (%n = %batch, %i, %j) sum (%e = 16)
      from (%prediction: tensor<?x288x10x16xf32>, %class1: tensor<?x10x16xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %prediction[%n, %i, %j, %e] : tensor<?x288x10x16xf32>
    %v = neoflow.read %class1[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %v : f32
    neoflow.yield %m : f32
  }
  %weight2 = neoflow.compute (%n = %batch, %i, %j) from (%agreement2: tensor<?x288x10xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %agreement2[%n, %i, %j] : tensor<?x288x10xf32>
    %v = math.exp %a : f32
    neoflow.yield %v : f32
  }
  %total2 = neoflow.compute (%n = %batch, %i) sum (%j = 10) from (%weight2: tensor<?x288x10xf32>) -> tensor<?x288xf32> {
    %a = neoflow.read %weight2[%n, %i, %j] : tensor<?x288x10xf32>
    neoflow.yield %a : f32
  }
  %coupling2 = neoflow.compute (%n = %batch, %i, %j)
      from (%weight2: tensor<?x288x10xf32>, %total2: tensor<?x288xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %weight2[%n, %i, %j] : tensor<?x288x10xf32>
    %t = neoflow.read %total2[%n, %i] : tensor<?x288xf32>
    %v = arith.divf %a, %t : f32
    neoflow.yield %v : f32
  }
  %sum2 = neoflow.compute (%n = %batch, %j, %e) sum (%i = 288)
      from (%coupling2: tensor<?x288x10xf32>, %prediction: tensor<?x288x10x16xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %prediction[%n, %i, %j, %e] : tensor<?x288x10x16xf32>
    %c = neoflow.read %coupling2[%n, %i, %j] : tensor<?x288x10xf32>
    %m = arith.mulf %a, %c : f32
    neoflow.yield %m : f32
  }
  %square2 = neoflow.compute (%n = %batch, %j) sum (%e = 16)
      from (%sum2: tensor<?x10x16xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %sum2[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %a : f32
    neoflow.yield %m : f32
  }
  %class2 = neoflow.compute (%n = %batch, %j, %e)
      from (%sum2: tensor<?x10x16xf32>, %square2: tensor<?x10xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %sum2[%n, %j, %e] : tensor<?x10x16xf32>
    %square = neoflow.read %square2[%n, %j] : tensor<?x10xf32>
    %small = arith.constant 1.0e-7 : f32
    %one = arith.constant 1.0 : f32
    %safe = arith.addf %square, %small : f32
    %length = math.sqrt %safe : f32
    %below = arith.addf %square, %one : f32
    %factor = arith.divf %length, %below : f32
    %v = arith.mulf %a, %factor : f32
    neoflow.yield %v : f32
  }

  // Round 3.
  %agreement3 = neoflow.compute (%n = %batch, %i, %j) sum (%e = 16)
      from (%prediction: tensor<?x288x10x16xf32>, %class2: tensor<?x10x16xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %prediction[%n, %i, %j, %e] : tensor<?x288x10x16xf32>
    %v = neoflow.read %class2[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %v : f32
    neoflow.yield %m : f32
  }
  %logit3 = neoflow.compute (%n = %batch, %i, %j)
      from (%agreement3: tensor<?x288x10xf32>, %agreement2: tensor<?x288x10xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %agreement3[%n, %i, %j] : tensor<?x288x10xf32>
    %b = neoflow.read %agreement2[%n, %i, %j] : tensor<?x288x10xf32>
    %v = arith.addf %a, %b : f32
    neoflow.yield %v : f32
  }
  %weight3 = neoflow.compute (%n = %batch, %i, %j) from (%logit3: tensor<?x288x10xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %logit3[%n, %i, %j] : tensor<?x288x10xf32>
    %v = math.exp %a : f32
    neoflow.yield %v : f32
  }
  %total3 = neoflow.compute (%n = %batch, %i) sum (%j = 10) from (%weight3: tensor<?x288x10xf32>) -> tensor<?x288xf32> {
    %a = neoflow.read %weight3[%n, %i, %j] : tensor<?x288x10xf32>
    neoflow.yield %a : f32
  }
  %coupling3 = neoflow.compute (%n = %batch, %i, %j)
      from (%weight3: tensor<?x288x10xf32>, %total3: tensor<?x288xf32>) -> tensor<?x288x10xf32> {
    %a = neoflow.read %weight3[%n, %i, %j] : tensor<?x288x10xf32>
    %t = neoflow.read %total3[%n, %i] : tensor<?x288xf32>
    %v = arith.divf %a, %t : f32
    neoflow.yield %v : f32
  }
  %sum3 = neoflow.compute (%n = %batch, %j, %e) sum (%i = 288)
      from (%coupling3: tensor<?x288x10xf32>, %prediction: tensor<?x288x10x16xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %prediction[%n, %i, %j, %e] : tensor<?x288x10x16xf32>
    %c = neoflow.read %coupling3[%n, %i, %j] : tensor<?x288x10xf32>
    %m = arith.mulf %a, %c : f32
    neoflow.yield %m : f32
  }
  %square3 = neoflow.compute (%n = %batch, %j) sum (%e = 16)
      from (%sum3: tensor<?x10x16xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %sum3[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %a : f32
    neoflow.yield %m : f32
  }
  %class3 = neoflow.compute (%n = %batch, %j, %e)
      from (%sum3: tensor<?x10x16xf32>, %square3: tensor<?x10xf32>) -> tensor<?x10x16xf32> {
    %a = neoflow.read %sum3[%n, %j, %e] : tensor<?x10x16xf32>
    %square = neoflow.read %square3[%n, %j] : tensor<?x10xf32>
    %small = arith.constant 1.0e-7 : f32
    %one = arith.constant 1.0 : f32
    %safe = arith.addf %square, %small : f32
    %length = math.sqrt %safe : f32
    %below = arith.addf %square, %one : f32
    %factor = arith.divf %length, %below : f32
    %v = arith.mulf %a, %factor : f32
    neoflow.yield %v : f32
  }
  return %class3 : tensor<?x10x16xf32>
}

// The length of every class capsule is the score of its class.
func.func private @lengths(%class: tensor<?x10x16xf32>) -> tensor<?x10xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %class, %c0 : tensor<?x10x16xf32>
  %square = neoflow.compute (%n = %batch, %j) sum (%e = 16) from (%class: tensor<?x10x16xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %class[%n, %j, %e] : tensor<?x10x16xf32>
    %m = arith.mulf %a, %a : f32
    neoflow.yield %m : f32
  }
  %length = neoflow.compute (%n = %batch, %j) from (%square: tensor<?x10xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %square[%n, %j] : tensor<?x10xf32>
    %small = arith.constant 1.0e-7 : f32
    %safe = arith.addf %a, %small : f32
    %v = math.sqrt %safe : f32
    neoflow.yield %v : f32
  }
  return %length : tensor<?x10xf32>
}

func.func @predict(
    %w1: tensor<64x1x9x9xf32> {neoflow.param = "conv1"},
    %b1: tensor<64xf32> {neoflow.param = "conv1.bias"},
    %w2: tensor<8x8x64x9x9xf32> {neoflow.param = "primary"},
    %b2: tensor<8x8xf32> {neoflow.param = "primary.bias"},
    %w3: tensor<288x10x16x8xf32> {neoflow.param = "digit"},
    %x: tensor<?x28x28xf32> {neoflow.input = "x", neoflow.dims = ["batch", "", ""]}) -> tensor<?x10xf32> {
  %class = func.call @capsules(%x, %w1, %b1, %w2, %b2, %w3) : (tensor<?x28x28xf32>, tensor<64x1x9x9xf32>, tensor<64xf32>, tensor<8x8x64x9x9xf32>, tensor<8x8xf32>, tensor<288x10x16x8xf32>) -> tensor<?x10x16xf32>
  %length = func.call @lengths(%class) : (tensor<?x10x16xf32>) -> tensor<?x10xf32>
  return %length : tensor<?x10xf32>
}

// Margin loss: the right class should be longer than 0.9, the others shorter than
// 0.1. The share of right answers is the metric. Both are a mean over the batch.
func.func @loss(
    %w1: tensor<64x1x9x9xf32> {neoflow.param = "conv1"},
    %b1: tensor<64xf32> {neoflow.param = "conv1.bias"},
    %w2: tensor<8x8x64x9x9xf32> {neoflow.param = "primary"},
    %b2: tensor<8x8xf32> {neoflow.param = "primary.bias"},
    %w3: tensor<288x10x16x8xf32> {neoflow.param = "digit"},
    %x: tensor<?x28x28xf32> {neoflow.input = "x", neoflow.dims = ["batch", "", ""]},
    %y: tensor<?xi32> {neoflow.label = "y", neoflow.dims = ["batch"]})
    -> (tensor<f32> {neoflow.loss}, tensor<f32> {neoflow.metric = "accuracy"}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x28x28xf32>
  %class = func.call @capsules(%x, %w1, %b1, %w2, %b2, %w3) : (tensor<?x28x28xf32>, tensor<64x1x9x9xf32>, tensor<64xf32>, tensor<8x8x64x9x9xf32>, tensor<8x8xf32>, tensor<288x10x16x8xf32>) -> tensor<?x10x16xf32>
  %length = func.call @lengths(%class) : (tensor<?x10x16xf32>) -> tensor<?x10xf32>

  %loss = neoflow.compute () sum (%n = %batch, %j = 10)
      from (%length: tensor<?x10xf32>, %y: tensor<?xi32>, %batch: index) -> tensor<f32> {
    %a = neoflow.read %length[%n, %j] : tensor<?x10xf32>
    %label = neoflow.read %y[%n] : tensor<?xi32>
    %index = arith.index_cast %j : index to i32
    %is = arith.cmpi eq, %label, %index : i32
    %zero = arith.constant 0.0 : f32
    %upper = arith.constant 0.9 : f32
    %lower = arith.constant 0.1 : f32
    %half = arith.constant 0.5 : f32
    %short = arith.subf %upper, %a : f32
    %isShort = arith.cmpf ogt, %short, %zero : f32
    %missing = arith.select %isShort, %short, %zero : f32
    %present = arith.mulf %missing, %missing : f32
    %long = arith.subf %a, %lower : f32
    %isLong = arith.cmpf ogt, %long, %zero : f32
    %excess = arith.select %isLong, %long, %zero : f32
    %excess2 = arith.mulf %excess, %excess : f32
    %absent = arith.mulf %excess2, %half : f32
    %margin = arith.select %is, %present, %absent : f32
    %count = arith.index_cast %batch : index to i64
    %size = arith.sitofp %count : i64 to f32
    %v = arith.divf %margin, %size : f32
    neoflow.yield %v : f32
  }
  %top = neoflow.compute (%n = %batch) max (%j = 10) from (%length: tensor<?x10xf32>) -> tensor<?xf32> {
    %a = neoflow.read %length[%n, %j] : tensor<?x10xf32>
    neoflow.yield %a : f32
  }
  %accuracy = neoflow.compute () sum (%n = %batch, %j = 10)
      from (%top: tensor<?xf32>, %length: tensor<?x10xf32>, %y: tensor<?xi32>, %batch: index) -> tensor<f32> {
    %a = neoflow.read %length[%n, %j] : tensor<?x10xf32>
    %m = neoflow.read %top[%n] : tensor<?xf32>
    %label = neoflow.read %y[%n] : tensor<?xi32>
    %index = arith.index_cast %j : index to i32
    %is = arith.cmpi eq, %label, %index : i32
    %wins = arith.cmpf oge, %a, %m : f32
    %hit = arith.andi %is, %wins : i1
    %count = arith.index_cast %batch : index to i64
    %size = arith.sitofp %count : i64 to f32
    %one = arith.constant 1.0 : f32
    %share = arith.divf %one, %size : f32
    %zero = arith.constant 0.0 : f32
    %v = arith.select %hit, %share, %zero : f32
    neoflow.yield %v : f32
  }
  return %loss, %accuracy : tensor<f32>, tensor<f32>
}

// Convolutions start normal with variance 2 / fan-in (He et al., 2015), the
// predictions normal with deviation 0.1, biases at zero.
func.func @init(%seed: i64 {neoflow.seed}) -> (
    tensor<64x1x9x9xf32> {neoflow.param = "conv1"}, tensor<64xf32> {neoflow.param = "conv1.bias"}, tensor<8x8x64x9x9xf32> {neoflow.param = "primary"}, tensor<8x8xf32> {neoflow.param = "primary.bias"}, tensor<288x10x16x8xf32> {neoflow.param = "digit"}) {
  %step = arith.constant 0 : i64
  %w1 = neoflow.compute (%i0, %i1, %i2, %i3) from (%seed: i64, %step: i64) -> tensor<64x1x9x9xf32> {
    %r = neoflow.random normal(%seed, %step) stream 0 [%i0, %i1, %i2, %i3] in [64, 1, 9, 9] : f32
    %scale = arith.constant 0.157135 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b1 = neoflow.compute (%i0) -> tensor<64xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w2 = neoflow.compute (%i0, %i1, %i2, %i3, %i4) from (%seed: i64, %step: i64) -> tensor<8x8x64x9x9xf32> {
    %r = neoflow.random normal(%seed, %step) stream 2 [%i0, %i1, %i2, %i3, %i4] in [8, 8, 64, 9, 9] : f32
    %scale = arith.constant 0.019642 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b2 = neoflow.compute (%i0, %i1) -> tensor<8x8xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w3 = neoflow.compute (%i0, %i1, %i2, %i3) from (%seed: i64, %step: i64) -> tensor<288x10x16x8xf32> {
    %r = neoflow.random normal(%seed, %step) stream 4 [%i0, %i1, %i2, %i3] in [288, 10, 16, 8] : f32
    %scale = arith.constant 0.100000 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  return %w1, %b1, %w2, %b2, %w3 : tensor<64x1x9x9xf32>, tensor<64xf32>, tensor<8x8x64x9x9xf32>, tensor<8x8xf32>, tensor<288x10x16x8xf32>
}
}
