// RUN: weft-opt %s --weft-plan-memory | FileCheck %s

// b is alive with a and with c, a and c never are together: c takes a's place.
// Sizes that grow with other symbols lie behind.

tile.program @f symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}

// CHECK-LABEL: plan.entry @step symbols ["tokens", "logits"] workspace "64*logits + 384*tokens"
//  CHECK-SAME:   lower_bound ["384*tokens", "64*logits + 256*tokens"]
//       CHECK:   plan.buffer temp "a" at "64*logits" :
//       CHECK:   plan.buffer temp "b" at "64*logits + 256*tokens" :
//       CHECK:   plan.buffer temp "c" at "64*logits" :
//       CHECK:   plan.buffer temp "d" at "0" :
plan.entry @step symbols ["tokens", "logits"] {
  %x = plan.buffer input "x" : tensor<?x32xf32> sizes ["tokens", "32"]
  %y = plan.buffer output "y" : tensor<?x16xf32> sizes ["logits", "16"]
  %a = plan.buffer temp "a" : tensor<?x64xf32> sizes ["tokens", "64"]
  %b = plan.buffer temp "b" : tensor<?x32xf32> sizes ["tokens", "32"]
  %c = plan.buffer temp "c" : tensor<?x64xf32> sizes ["tokens", "64"]
  %d = plan.buffer temp "d" : tensor<?x16xf32> sizes ["logits", "16"]
  plan.launch @f "1"(%x, %a) inputs 1 symbols ["tokens"]
  plan.launch @f "2"(%a, %b) inputs 1 symbols ["tokens"]
  plan.launch @f "3"(%b, %c) inputs 1 symbols ["tokens"]
  plan.launch @f "4"(%c, %d) inputs 1 symbols ["logits"]
  plan.launch @f "5"(%d, %y) inputs 1 symbols ["logits"]
}

// Sizes that are multiples of the same polynomial share memory among them.

// CHECK-LABEL: plan.entry @spare symbols ["tokens"] workspace "3584 + 640*tokens"
//       CHECK:   plan.buffer temp "a" at "0" :
//       CHECK:   plan.buffer temp "b" at "1792 + 256*tokens" :
//       CHECK:   plan.buffer temp "c" at "0" :
//       CHECK:   plan.buffer temp "d" at "3584 + 512*tokens" :
plan.entry @spare symbols ["tokens"] {
  %x = plan.buffer input "x" : tensor<?x32xf32> sizes ["tokens", "32"]
  %y = plan.buffer output "y" : tensor<?x32xf32> sizes ["tokens", "32"]
  %a = plan.buffer temp "a" : tensor<?x64xf32> sizes ["7 + tokens", "64"]
  %b = plan.buffer temp "b" : tensor<?x64xf32> sizes ["7 + tokens", "64"]
  %c = plan.buffer temp "c" : tensor<?x64xf32> sizes ["7 + tokens", "64"]
  %d = plan.buffer temp "d" : tensor<?x32xf32> sizes ["tokens", "32"]
  plan.launch @f "1"(%x, %a) inputs 1 symbols ["tokens"]
  plan.launch @f "2"(%a, %b) inputs 1 symbols ["tokens"]
  plan.launch @f "3"(%b, %c) inputs 1 symbols ["tokens"]
  plan.launch @f "4"(%c, %d) inputs 1 symbols ["tokens"]
  plan.launch @f "5"(%d, %y) inputs 1 symbols ["tokens"]
}
