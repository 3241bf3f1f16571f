// Upstream propagation, from annotations on weights, queries and caches.
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(sharding-propagation))' | FileCheck %s

shard.grid @devices(shape = 4)

// The first layer's outputs are split, so are the second layer's inputs: the
// activation between them needs no communication.
// CHECK-LABEL: func.func @mlp
func.func @mlp(%x: tensor<?x64xf32>, %w1: tensor<256x64xf32>, %w2: tensor<64x256xf32>, %norm: tensor<64xf32>) -> tensor<?x64xf32> {
  %column = shard.sharding @devices split_axes = [[0]] : !shard.sharding
  %row = shard.sharding @devices split_axes = [[], [0]] : !shard.sharding
  %w1s = shard.shard %w1 to %column annotate_for_users : tensor<256x64xf32>
  %w2s = shard.shard %w2 to %row annotate_for_users : tensor<64x256xf32>
  // CHECK: %[[N:.*]] = weft.rms_norm
  // CHECK-NEXT: %[[S0:.*]] = shard.sharding @devices split_axes = {{\[\[\]\]}}
  // CHECK-NEXT: shard.shard %[[N]] to %[[S0]]
  %n = weft.rms_norm %x, %norm {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  // CHECK: %[[H:.*]] = weft.linear
  // CHECK-NEXT: %[[S1:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[H]] to %[[S1]]
  %h = weft.linear %n, %w1s : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
  // CHECK: %[[A:.*]] = weft.activation
  // CHECK-NEXT: %[[S2:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[A]] to %[[S2]]
  %a = weft.activation silu %h : tensor<?x256xf32>
  // CHECK: %[[Y:.*]] = weft.linear
  // CHECK-NEXT: %[[S3:.*]] = shard.sharding @devices split_axes = {{\[\[\]\]}}
  // CHECK-NEXT: shard.shard %[[Y]] to %[[S3]]
  %y = weft.linear %a, %w2s : (tensor<?x256xf32>, tensor<64x256xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// With the heads of queries and caches split, keys, values and the result are
// split by heads too; positions and tables are whole everywhere.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x8x64xf32>, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>, %kc: tensor<?x4x64x64xf32>,
    %vc: tensor<?x4x64x64xf32>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>, %p: tensor<?xi32>, %ids: tensor<?xi32>,
    %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>, %slots: tensor<?xi32>) -> tensor<?x8x64xf32> {
  %heads = shard.sharding @devices split_axes = [[], [0]] : !shard.sharding
  %kcs = shard.shard %kc to %heads annotate_for_users : tensor<?x4x64x64xf32>
  %vcs = shard.shard %vc to %heads annotate_for_users : tensor<?x4x64x64xf32>
  %qs = shard.shard %q to %heads annotate_for_users : tensor<?x8x64xf32>
  // CHECK: %[[QR:.*]] = weft.rope
  // CHECK-NEXT: %[[S0:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[QR]] to %[[S0]]
  %qr = weft.rope %qs, %cos, %sin : tensor<?x8x64xf32>, tensor<?x32xf32>
  // CHECK: %[[KR:.*]] = weft.rope
  // CHECK-NEXT: %[[S1:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[KR]] to %[[S1]]
  %kr = weft.rope %k, %cos, %sin : tensor<?x4x64xf32>, tensor<?x32xf32>
  // CHECK: %[[KC:.*]] = weft.cache_append key
  // CHECK-NEXT: %[[S2:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[KC]] to %[[S2]]
  %kn = weft.cache_append key %kcs, %kr, %slots : tensor<?x4x64x64xf32>, tensor<?x4x64xf32>
  // CHECK: weft.cache_append value
  %vn = weft.cache_append value %vcs, %v, %slots : tensor<?x4x64x64xf32>, tensor<?x4x64xf32>
  // CHECK: %[[O:.*]] = weft.attention
  // CHECK-NEXT: %[[S3:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[O]] to %[[S3]]
  %o = weft.attention %qr, %kn, %vn positions %p sequences %ids, %starts context %lengths, %table {scale = 0.125 : f32, causal}
      : (tensor<?x8x64xf32>, tensor<?x4x64x64xf32>, tensor<?x4x64x64xf32>) -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}

// Rows of logits may be split.
// CHECK-LABEL: func.func @sample
func.func @sample(%x: tensor<?x512xf32>, %counts: tensor<?x2xi32>, %options: tensor<?x4xf32>) -> tensor<?xi32> {
  %rows = shard.sharding @devices split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %rows annotate_for_users : tensor<?x512xf32>
  // CHECK: %[[I:.*]] = weft.sample
  // CHECK-NEXT: %[[S0:.*]] = shard.sharding @devices split_axes = {{\[\[0\]\]}}
  // CHECK-NEXT: shard.shard %[[I]] to %[[S0]]
  %ids = weft.sample %xs, %counts, %options : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
  return %ids : tensor<?xi32>
}

// A table split by columns gives rows split by columns; experts may be split.
// CHECK-LABEL: func.func @embed_and_experts
func.func @embed_and_experts(%ids: tensor<?xi32>, %t: tensor<512x64xf32>, %experts: tensor<?x2xi32>, %weights: tensor<?x2xf32>,
    %x: tensor<?x64xf32>, %w: tensor<8x64x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %columns = shard.sharding @devices split_axes = [[], [0]] : !shard.sharding
  %ts = shard.shard %t to %columns annotate_for_users : tensor<512x64xf32>
  // CHECK: %[[E:.*]] = weft.embed
  // CHECK-NEXT: %[[S0:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[E]] to %[[S0]]
  %e = weft.embed %ids, %ts : (tensor<?xi32>, tensor<512x64xf32>) -> tensor<?x64xf32>
  %outputs = shard.sharding @devices split_axes = [[], [0]] : !shard.sharding
  %ws = shard.shard %w to %outputs annotate_for_users : tensor<8x64x64xf32>
  // CHECK: %[[G:.*]] = weft.grouped_linear
  // CHECK-NEXT: %[[S1:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[G]] to %[[S1]]
  %g = weft.grouped_linear %x, %ws, %experts : (tensor<?x64xf32>, tensor<8x64x64xf32>, tensor<?x2xi32>) -> tensor<?x2x64xf32>
  // CHECK: %[[C:.*]] = weft.combine
  // CHECK-NEXT: %[[S2:.*]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // CHECK-NEXT: shard.shard %[[C]] to %[[S2]]
  %c = weft.combine %g, %weights : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  return %e, %c : tensor<?x64xf32>, tensor<?x64xf32>
}
