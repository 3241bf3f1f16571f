// RUN: weft-opt %s --weft-fuse-norms --canonicalize --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-fuse-norms --canonicalize --split-input-file --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSED

// Both layers of a gate normalise their input themselves; the kernel of the
// norm is gone.

// DOC
// CHECK-LABEL: func @gate
//       CHECK:   weft.dispatch "gate" (%[[X:.*]] = %{{.*}} : tensor<?x128xbf16>, {{.*}}, %[[W:.*]] = %{{.*}} : tensor<128xbf16>)
//  CHECK-NEXT:     %[[N:.*]] = weft.rms_norm %[[X]], %[[W]]
//  CHECK-NEXT:     weft.linear %[[N]]
//  CHECK-NEXT:     weft.linear %[[N]]
//  CHECK-NEXT:     weft.gated_activation
//   CHECK-NOT:   weft.dispatch
func.func @gate(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>, %g: tensor<4x1x32x8x8xbf16>, %u: tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16> {
  %n = weft.dispatch "norm" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<128xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x128xbf16>, tensor<128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  %y = weft.dispatch "gate" (%a = %n : tensor<?x128xbf16>, %b = %g : tensor<4x1x32x8x8xbf16>, %c = %u : tensor<4x1x32x8x8xbf16>) -> (tensor<?x64xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16>
    %1 = weft.linear %a, %c layout core_matrices : (tensor<?x128xbf16>, tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16>
    %2 = weft.gated_activation silu %0, %1 : tensor<?x64xbf16>
    weft.yield %2 : tensor<?x64xbf16>
  }
  return %y : tensor<?x64xbf16>
}

// -----

// An embedding in front of the norm stays a kernel, without the norm.

// CHECK-LABEL: func @embed
//       CHECK:   weft.dispatch "embed"
//       CHECK:     weft.embed
//   CHECK-NOT:     weft.rms_norm
//       CHECK:   weft.dispatch "head"
//       CHECK:     weft.rms_norm
//       CHECK:     weft.linear
func.func @embed(%ids: tensor<?xi32>, %t: tensor<32x128xbf16>, %w: tensor<128xbf16>, %h: tensor<4x1x32x8x8xbf16>) -> (tensor<?x128xbf16>, tensor<?x64xbf16>) {
  %x, %n = weft.dispatch "embed" (%a = %ids : tensor<?xi32>, %b = %t : tensor<32x128xbf16>, %c = %w : tensor<128xbf16>) -> (tensor<?x128xbf16>, tensor<?x128xbf16>) {
    %0 = weft.embed %a, %b : (tensor<?xi32>, tensor<32x128xbf16>) -> tensor<?x128xbf16>
    %1 = weft.rms_norm %0, %c {epsilon = 1.0e-5 : f32} : tensor<?x128xbf16>, tensor<128xbf16>
    weft.yield %0, %1 : tensor<?x128xbf16>, tensor<?x128xbf16>
  }
  %y = weft.dispatch "head" (%a = %n : tensor<?x128xbf16>, %b = %h : tensor<4x1x32x8x8xbf16>) -> (tensor<?x64xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16>
    weft.yield %0 : tensor<?x64xbf16>
  }
  return %x, %y : tensor<?x128xbf16>, tensor<?x64xbf16>
}

// -----

// Another reader needs the normalised rows.

// CHECK-LABEL: func @residual
//       CHECK:   weft.dispatch "norm"
//       CHECK:   weft.dispatch "layer"
//   CHECK-NOT:     weft.rms_norm
//      MISSED: its result is not only multiplied
func.func @residual(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>, %h: tensor<8x1x32x8x8xbf16>) -> tensor<?x128xbf16> {
  %n = weft.dispatch "norm" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<128xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x128xbf16>, tensor<128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  %y = weft.dispatch "layer" (%a = %n : tensor<?x128xbf16>, %b = %h : tensor<8x1x32x8x8xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<8x1x32x8x8xbf16>) -> tensor<?x128xbf16>
    %1 = arith.addf %a, %0 : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %y : tensor<?x128xbf16>
}

// -----

// In f16 a product that is not normalised yet might overflow.

// CHECK-LABEL: func @f16
//       CHECK:   weft.dispatch "norm"
//      MISSED: its products with the weight might overflow
func.func @f16(%x: tensor<?x128xf16>, %w: tensor<128xf16>, %h: tensor<8x1x32x8x8xf16>) -> tensor<?x128xf16> {
  %n = weft.dispatch "norm" (%a = %x : tensor<?x128xf16>, %b = %w : tensor<128xf16>) -> (tensor<?x128xf16>) {
    %0 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x128xf16>, tensor<128xf16>
    weft.yield %0 : tensor<?x128xf16>
  }
  %y = weft.dispatch "layer" (%a = %n : tensor<?x128xf16>, %b = %h : tensor<8x1x32x8x8xf16>) -> (tensor<?x128xf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xf16>, tensor<8x1x32x8x8xf16>) -> tensor<?x128xf16>
    weft.yield %0 : tensor<?x128xf16>
  }
  return %y : tensor<?x128xf16>
}

// -----

// Weights in panels are for kernels that read their input often.

// CHECK-LABEL: func @panels
//       CHECK:   weft.dispatch "norm"
//      MISSED: its result is multiplied by a weight that tensor cores do not read
func.func @panels(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>, %h: tensor<2x64x64x2xbf16>) -> tensor<?x128xbf16> {
  %n = weft.dispatch "norm" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<128xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x128xbf16>, tensor<128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  %y = weft.dispatch "layer" (%a = %n : tensor<?x128xbf16>, %b = %h : tensor<2x64x64x2xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.linear %a, %b layout panels<columns = 64, group = 2> : (tensor<?x128xbf16>, tensor<2x64x64x2xbf16>) -> tensor<?x128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  return %y : tensor<?x128xbf16>
}

// -----

// CHECK-LABEL: func @returned
//       CHECK:   weft.dispatch "norm"
//      MISSED: the entry point returns its result
func.func @returned(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %n = weft.dispatch "norm" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<128xbf16>) -> (tensor<?x128xbf16>) {
    %0 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x128xbf16>, tensor<128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  return %n : tensor<?x128xbf16>
}
