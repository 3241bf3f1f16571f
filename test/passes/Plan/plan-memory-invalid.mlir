// RUN: weft-opt %s --weft-plan-memory --verify-diagnostics

// All of them at once.
plan.entry @step symbols ["tokens"] {
  // expected-error @+1 {{has -4 + 4*tokens bytes; a temporary's size must be a sum of positive multiples of products of symbols}}
  %a = plan.buffer temp "a" : tensor<?xf32> sizes ["-1 + tokens"]
  %b = plan.buffer temp "b" : tensor<?x8xf32> sizes ["tokens", "8"]
  // expected-error @+1 {{has 0 bytes; a temporary's size must be}}
  %c = plan.buffer temp "c" : tensor<0xf32> sizes ["0"]
  // expected-error @+1 {{has -4*tokens bytes; a temporary's size must be}}
  %d = plan.buffer temp "d" : tensor<?xf32> sizes ["-1*tokens"]
}
