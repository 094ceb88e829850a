// LeNet-5 on 28 x 28 images of 10 classes.
//
// Two convolutions with max pooling, three dense layers, cross entropy. Pixels come
// as bytes, 0 to 255; the expression scales them.
//
//   neoflow-compile lenet5.mlir -o lenet5.nfb
//   neoflow-run train lenet5.nfb --data fashion-mnist --epochs 2

module attributes {neoflow.optimizer = "momentum", neoflow.learning_rate = 0.02, neoflow.default_dims = {batch = 64}} {

// The scores of the classes.
func.func private @scores(
    %x: tensor<?x28x28xf32>,
    %w1: tensor<6x1x5x5xf32>,
    %b1: tensor<6xf32>,
    %w2: tensor<16x6x5x5xf32>,
    %b2: tensor<16xf32>,
    %w3: tensor<120x16x5x5xf32>,
    %b3: tensor<120xf32>,
    %w4: tensor<84x120xf32>,
    %b4: tensor<84xf32>,
    %w5: tensor<10x84xf32>,
    %b5: tensor<10xf32>) -> tensor<?x10xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x28x28xf32>

  // Bytes to numbers around zero, with a channel axis.
  %image = neoflow.compute (%n = %batch, %c, %h, %w) from (%x: tensor<?x28x28xf32>) -> tensor<?x1x28x28xf32> {
    %a = neoflow.read %x[%n, %h, %w] : tensor<?x28x28xf32>
    %scale = arith.constant 0.0078125 : f32
    %one = arith.constant 1.0 : f32
    %s = arith.mulf %a, %scale : f32
    %v = arith.subf %s, %one : f32
    neoflow.yield %v : f32
  }

  // 5 x 5 convolution with padding, 6 channels, ReLU; 2 x 2 maximum.
  %conv1_sum = neoflow.compute (%n = %batch, %k, %p, %q) sum (%c = 1, %r = 5, %s = 5)
      from (%image: tensor<?x1x28x28xf32>, %w1: tensor<6x1x5x5xf32>) -> tensor<?x6x28x28xf32> {
    %a = neoflow.read %image[%n, %c, %p + %r - 2, %q + %s - 2] else 0.0 : tensor<?x1x28x28xf32>
    %f = neoflow.read %w1[%k, %c, %r, %s] : tensor<6x1x5x5xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %conv1 = neoflow.compute (%n = %batch, %k, %p, %q)
      from (%conv1_sum: tensor<?x6x28x28xf32>, %b1: tensor<6xf32>) -> tensor<?x6x28x28xf32> {
    %a = neoflow.read %conv1_sum[%n, %k, %p, %q] : tensor<?x6x28x28xf32>
    %f = neoflow.read %b1[%k] : tensor<6xf32>
    %v = arith.addf %a, %f : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %relu = arith.select %positive, %v, %zero : f32
    neoflow.yield %relu : f32
  }
  %pool1 = neoflow.compute (%n = %batch, %k, %p, %q) max (%r = 2, %s = 2)
      from (%conv1: tensor<?x6x28x28xf32>) -> tensor<?x6x14x14xf32> {
    %a = neoflow.read %conv1[%n, %k, %p * 2 + %r, %q * 2 + %s] : tensor<?x6x28x28xf32>
    neoflow.yield %a : f32
  }

  // 5 x 5 convolution, 16 channels, ReLU; 2 x 2 maximum.
  %conv2_sum = neoflow.compute (%n = %batch, %k, %p, %q) sum (%c = 6, %r = 5, %s = 5)
      from (%pool1: tensor<?x6x14x14xf32>, %w2: tensor<16x6x5x5xf32>) -> tensor<?x16x10x10xf32> {
    %a = neoflow.read %pool1[%n, %c, %p + %r, %q + %s] : tensor<?x6x14x14xf32>
    %f = neoflow.read %w2[%k, %c, %r, %s] : tensor<16x6x5x5xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %conv2 = neoflow.compute (%n = %batch, %k, %p, %q)
      from (%conv2_sum: tensor<?x16x10x10xf32>, %b2: tensor<16xf32>) -> tensor<?x16x10x10xf32> {
    %a = neoflow.read %conv2_sum[%n, %k, %p, %q] : tensor<?x16x10x10xf32>
    %f = neoflow.read %b2[%k] : tensor<16xf32>
    %v = arith.addf %a, %f : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %relu = arith.select %positive, %v, %zero : f32
    neoflow.yield %relu : f32
  }
  %pool2 = neoflow.compute (%n = %batch, %k, %p, %q) max (%r = 2, %s = 2)
      from (%conv2: tensor<?x16x10x10xf32>) -> tensor<?x16x5x5xf32> {
    %a = neoflow.read %conv2[%n, %k, %p * 2 + %r, %q * 2 + %s] : tensor<?x16x10x10xf32>
    neoflow.yield %a : f32
  }

  // Three dense layers; the first one sums over the pooled image itself.
  %dense1_sum = neoflow.compute (%n = %batch, %k) sum (%c = 16, %h = 5, %w = 5)
      from (%pool2: tensor<?x16x5x5xf32>, %w3: tensor<120x16x5x5xf32>) -> tensor<?x120xf32> {
    %a = neoflow.read %pool2[%n, %c, %h, %w] : tensor<?x16x5x5xf32>
    %f = neoflow.read %w3[%k, %c, %h, %w] : tensor<120x16x5x5xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %dense1 = neoflow.compute (%n = %batch, %k)
      from (%dense1_sum: tensor<?x120xf32>, %b3: tensor<120xf32>) -> tensor<?x120xf32> {
    %a = neoflow.read %dense1_sum[%n, %k] : tensor<?x120xf32>
    %f = neoflow.read %b3[%k] : tensor<120xf32>
    %v = arith.addf %a, %f : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %relu = arith.select %positive, %v, %zero : f32
    neoflow.yield %relu : f32
  }
  %dense2_sum = neoflow.compute (%n = %batch, %k) sum (%c = 120)
      from (%dense1: tensor<?x120xf32>, %w4: tensor<84x120xf32>) -> tensor<?x84xf32> {
    %a = neoflow.read %dense1[%n, %c] : tensor<?x120xf32>
    %f = neoflow.read %w4[%k, %c] : tensor<84x120xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %dense2 = neoflow.compute (%n = %batch, %k)
      from (%dense2_sum: tensor<?x84xf32>, %b4: tensor<84xf32>) -> tensor<?x84xf32> {
    %a = neoflow.read %dense2_sum[%n, %k] : tensor<?x84xf32>
    %f = neoflow.read %b4[%k] : tensor<84xf32>
    %v = arith.addf %a, %f : f32
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    %relu = arith.select %positive, %v, %zero : f32
    neoflow.yield %relu : f32
  }
  %dense3_sum = neoflow.compute (%n = %batch, %k) sum (%c = 84)
      from (%dense2: tensor<?x84xf32>, %w5: tensor<10x84xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %dense2[%n, %c] : tensor<?x84xf32>
    %f = neoflow.read %w5[%k, %c] : tensor<10x84xf32>
    %m = arith.mulf %a, %f : f32
    neoflow.yield %m : f32
  }
  %dense3 = neoflow.compute (%n = %batch, %k)
      from (%dense3_sum: tensor<?x10xf32>, %b5: tensor<10xf32>) -> tensor<?x10xf32> {
    %a = neoflow.read %dense3_sum[%n, %k] : tensor<?x10xf32>
    %f = neoflow.read %b5[%k] : tensor<10xf32>
    %v = arith.addf %a, %f : f32
    neoflow.yield %v : f32
  }
  return %dense3 : tensor<?x10xf32>
}

func.func @predict(
    %w1: tensor<6x1x5x5xf32> {neoflow.param = "conv1"},
    %b1: tensor<6xf32> {neoflow.param = "conv1.bias"},
    %w2: tensor<16x6x5x5xf32> {neoflow.param = "conv2"},
    %b2: tensor<16xf32> {neoflow.param = "conv2.bias"},
    %w3: tensor<120x16x5x5xf32> {neoflow.param = "dense1"},
    %b3: tensor<120xf32> {neoflow.param = "dense1.bias"},
    %w4: tensor<84x120xf32> {neoflow.param = "dense2"},
    %b4: tensor<84xf32> {neoflow.param = "dense2.bias"},
    %w5: tensor<10x84xf32> {neoflow.param = "dense3"},
    %b5: tensor<10xf32> {neoflow.param = "dense3.bias"},
    %x: tensor<?x28x28xf32> {neoflow.input = "x", neoflow.dims = ["batch", "", ""]}) -> tensor<?x10xf32> {
  %z = func.call @scores(%x, %w1, %b1, %w2, %b2, %w3, %b3, %w4, %b4, %w5, %b5) : (tensor<?x28x28xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>, tensor<16x6x5x5xf32>, tensor<16xf32>, tensor<120x16x5x5xf32>, tensor<120xf32>, tensor<84x120xf32>, tensor<84xf32>, tensor<10x84xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  return %z : tensor<?x10xf32>
}

// Cross entropy and the share of right answers, both a mean over the batch.
func.func @loss(
    %w1: tensor<6x1x5x5xf32> {neoflow.param = "conv1"},
    %b1: tensor<6xf32> {neoflow.param = "conv1.bias"},
    %w2: tensor<16x6x5x5xf32> {neoflow.param = "conv2"},
    %b2: tensor<16xf32> {neoflow.param = "conv2.bias"},
    %w3: tensor<120x16x5x5xf32> {neoflow.param = "dense1"},
    %b3: tensor<120xf32> {neoflow.param = "dense1.bias"},
    %w4: tensor<84x120xf32> {neoflow.param = "dense2"},
    %b4: tensor<84xf32> {neoflow.param = "dense2.bias"},
    %w5: tensor<10x84xf32> {neoflow.param = "dense3"},
    %b5: tensor<10xf32> {neoflow.param = "dense3.bias"},
    %x: tensor<?x28x28xf32> {neoflow.input = "x", neoflow.dims = ["batch", "", ""]},
    %y: tensor<?xi32> {neoflow.label = "y", neoflow.dims = ["batch"]})
    -> (tensor<f32> {neoflow.loss}, tensor<f32> {neoflow.metric = "accuracy"}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x28x28xf32>
  %z = func.call @scores(%x, %w1, %b1, %w2, %b2, %w3, %b3, %w4, %b4, %w5, %b5) : (tensor<?x28x28xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>, tensor<16x6x5x5xf32>, tensor<16xf32>, tensor<120x16x5x5xf32>, tensor<120xf32>, tensor<84x120xf32>, tensor<84xf32>, tensor<10x84xf32>, tensor<10xf32>) -> tensor<?x10xf32>

  // The largest score keeps the exponentials small; the gradient does not depend
  // on it.
  %top = neoflow.compute (%n = %batch) max (%k = 10) from (%z: tensor<?x10xf32>) -> tensor<?xf32> {
    %a = neoflow.read %z[%n, %k] : tensor<?x10xf32>
    neoflow.yield %a : f32
  }
  %shift = neoflow.stop_gradient %top : tensor<?xf32>
  %total = neoflow.compute (%n = %batch) sum (%k = 10)
      from (%z: tensor<?x10xf32>, %shift: tensor<?xf32>) -> tensor<?xf32> {
    %a = neoflow.read %z[%n, %k] : tensor<?x10xf32>
    %m = neoflow.read %shift[%n] : tensor<?xf32>
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    neoflow.yield %e : f32
  }
  // The score of the right class.
  %right = neoflow.compute (%n = %batch) sum (%k = 10)
      from (%z: tensor<?x10xf32>, %y: tensor<?xi32>) -> tensor<?xf32> {
    %a = neoflow.read %z[%n, %k] : tensor<?x10xf32>
    %label = neoflow.read %y[%n] : tensor<?xi32>
    %class = arith.index_cast %k : index to i32
    %is = arith.cmpi eq, %label, %class : i32
    %zero = arith.constant 0.0 : f32
    %v = arith.select %is, %a, %zero : f32
    neoflow.yield %v : f32
  }
  %loss = neoflow.compute () sum (%n = %batch)
      from (%total: tensor<?xf32>, %shift: tensor<?xf32>, %right: tensor<?xf32>, %batch: index) -> tensor<f32> {
    %t = neoflow.read %total[%n] : tensor<?xf32>
    %m = neoflow.read %shift[%n] : tensor<?xf32>
    %r = neoflow.read %right[%n] : tensor<?xf32>
    %log = math.log %t : f32
    %s = arith.addf %log, %m : f32
    %d = arith.subf %s, %r : f32
    %count = arith.index_cast %batch : index to i64
    %size = arith.sitofp %count : i64 to f32
    %v = arith.divf %d, %size : f32
    neoflow.yield %v : f32
  }
  %accuracy = neoflow.compute () sum (%n = %batch)
      from (%top: tensor<?xf32>, %right: tensor<?xf32>, %batch: index) -> tensor<f32> {
    %m = neoflow.read %top[%n] : tensor<?xf32>
    %r = neoflow.read %right[%n] : tensor<?xf32>
    %count = arith.index_cast %batch : index to i64
    %size = arith.sitofp %count : i64 to f32
    %one = arith.constant 1.0 : f32
    %share = arith.divf %one, %size : f32
    %zero = arith.constant 0.0 : f32
    %hit = arith.cmpf oge, %r, %m : f32
    %v = arith.select %hit, %share, %zero : f32
    neoflow.yield %v : f32
  }
  return %loss, %accuracy : tensor<f32>, tensor<f32>
}

// Weights are normal with variance 2 / fan-in (He et al., 2015), biases zero.
func.func @init(%seed: i64 {neoflow.seed}) -> (
    tensor<6x1x5x5xf32> {neoflow.param = "conv1"}, tensor<6xf32> {neoflow.param = "conv1.bias"}, tensor<16x6x5x5xf32> {neoflow.param = "conv2"}, tensor<16xf32> {neoflow.param = "conv2.bias"}, tensor<120x16x5x5xf32> {neoflow.param = "dense1"}, tensor<120xf32> {neoflow.param = "dense1.bias"}, tensor<84x120xf32> {neoflow.param = "dense2"}, tensor<84xf32> {neoflow.param = "dense2.bias"}, tensor<10x84xf32> {neoflow.param = "dense3"}, tensor<10xf32> {neoflow.param = "dense3.bias"}) {
  %step = arith.constant 0 : i64
  %w1 = neoflow.compute (%i0, %i1, %i2, %i3) from (%seed: i64, %step: i64) -> tensor<6x1x5x5xf32> {
    %r = neoflow.random normal(%seed, %step) stream 0 [%i0, %i1, %i2, %i3] in [6, 1, 5, 5] : f32
    %scale = arith.constant 0.282843 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b1 = neoflow.compute (%i0) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w2 = neoflow.compute (%i0, %i1, %i2, %i3) from (%seed: i64, %step: i64) -> tensor<16x6x5x5xf32> {
    %r = neoflow.random normal(%seed, %step) stream 2 [%i0, %i1, %i2, %i3] in [16, 6, 5, 5] : f32
    %scale = arith.constant 0.115470 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b2 = neoflow.compute (%i0) -> tensor<16xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w3 = neoflow.compute (%i0, %i1, %i2, %i3) from (%seed: i64, %step: i64) -> tensor<120x16x5x5xf32> {
    %r = neoflow.random normal(%seed, %step) stream 4 [%i0, %i1, %i2, %i3] in [120, 16, 5, 5] : f32
    %scale = arith.constant 0.070711 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b3 = neoflow.compute (%i0) -> tensor<120xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w4 = neoflow.compute (%i0, %i1) from (%seed: i64, %step: i64) -> tensor<84x120xf32> {
    %r = neoflow.random normal(%seed, %step) stream 6 [%i0, %i1] in [84, 120] : f32
    %scale = arith.constant 0.129099 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b4 = neoflow.compute (%i0) -> tensor<84xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  %w5 = neoflow.compute (%i0, %i1) from (%seed: i64, %step: i64) -> tensor<10x84xf32> {
    %r = neoflow.random normal(%seed, %step) stream 8 [%i0, %i1] in [10, 84] : f32
    %scale = arith.constant 0.154303 : f32
    %v = arith.mulf %r, %scale : f32
    neoflow.yield %v : f32
  }
  %b5 = neoflow.compute (%i0) -> tensor<10xf32> {
    %zero = arith.constant 0.0 : f32
    neoflow.yield %zero : f32
  }
  return %w1, %b1, %w2, %b2, %w3, %b3, %w4, %b4, %w5, %b5 : tensor<6x1x5x5xf32>, tensor<6xf32>, tensor<16x6x5x5xf32>, tensor<16xf32>, tensor<120x16x5x5xf32>, tensor<120xf32>, tensor<84x120xf32>, tensor<84xf32>, tensor<10x84xf32>, tensor<10xf32>
}
}
