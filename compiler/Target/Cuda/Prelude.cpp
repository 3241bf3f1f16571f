//===- Prelude.cpp - Helpers that printed kernels use ---------------------===//

#include "compiler/Target/Cuda/Prelude.h"
#include "compiler/Target/Cuda/PreludeHelpers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cassert>

using namespace llvm;
using namespace weft;

static constexpr StringLiteral typesText =
    R"(#define DEVICE __device__ __forceinline__
typedef signed char i8;
typedef short i16;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
)";

/// Keywords and names of CUDA that the text of a kernel may use or that its
/// names could hide.
static constexpr StringLiteral reservedNames[] = {
    "DEVICE",
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch",
    "char class compl const consteval constexpr constinit const_cast continue",
    "co_await co_return co_yield concept decltype default delete do double",
    "dynamic_cast else enum explicit export extern false float for friend",
    "goto if inline int long mutable namespace new noexcept not not_eq",
    "nullptr operator or or_eq private protected public register",
    "reinterpret_cast requires return short signed sizeof static",
    "static_assert static_cast struct switch template this thread_local throw",
    "true try typedef typeid typename union unsigned using virtual void",
    "volatile wchar_t while xor xor_eq",
    "i8 i16 i64 u8 u16 u32 u64 e smem shared_memory main",
    "threadIdx blockIdx blockDim gridDim warpSize abs min max exp log pow sin",
    "cos tan sqrt floor ceil round trunc fabs fmin fmax fmod fma isnan isinf",
    "isfinite to_float to_bf16 to_f16 atomicAdd index erf tanh",
    "atomic_add_acq_rel j0 j1 jn y0 y1 yn warpgroup_mma_bf16 warpgroup_mma_f16",
};

static size_t findHelper(StringRef name) {
  ArrayRef<PreludeHelper> helpers = getPreludeHelpers();
  return llvm::find_if(
             helpers,
             [&](const PreludeHelper &helper) { return helper.name == name; }) -
         helpers.begin();
}

Prelude::Prelude() : used(getPreludeHelpers().size()) {}

void Prelude::use(StringRef name) {
  size_t index = findHelper(name);
  assert(index < used.size() && "no such helper");
  if (used[index])
    return;
  used[index] = true;
  SmallVector<StringRef> needs;
  getPreludeHelpers()[index].needs.split(needs, ' ', /*MaxSplit=*/-1,
                                         /*KeepEmpty=*/false);
  for (StringRef need : needs)
    use(need);
}

std::string Prelude::print() const {
  std::string text = typesText.str();
  for (auto [i, helper] : llvm::enumerate(getPreludeHelpers()))
    if (used[i])
      text += helper.text;
  return text;
}

bool Prelude::isReserved(StringRef name) {
  if (findHelper(name) < getPreludeHelpers().size())
    return true;
  return llvm::any_of(reservedNames, [&](StringRef line) {
    SmallVector<StringRef> words;
    line.split(words, ' ');
    return llvm::is_contained(words, name);
  });
}
