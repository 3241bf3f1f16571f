//===- CostTest.cpp - Work of model operations ----------------------------===//
//
// Counts worked out by hand, compared as text in normal form.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialects.h"
#include "dialects/Weft/WeftDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace weft;

namespace {

class CostTest : public ::testing::Test {
protected:
  CostTest() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// FLOPs and bytes of the only model operation of a function whose dynamic
  /// arguments carry symbols.
  std::pair<std::string, std::string> costOf(const std::string &arguments,
                                             const std::string &operation) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(" + arguments + ") {\n" + operation + "\nreturn\n}",
        &context);
    EXPECT_TRUE(module);
    std::pair<std::string, std::string> result;
    if (module)
      module->walk([&](CostInterface op) {
        result = {op.getFlops(getDimSize).str(), op.getBytes(getDimSize).str()};
      });
    return result;
  }

  using Cost = std::pair<std::string, std::string>;
  mlir::MLIRContext context;
};

} // namespace

static std::string tokens(const std::string &name, const std::string &type) {
  return "%" + name + ": tensor<?x" + type + "> {weft.symbols = [\"tokens\"]}";
}

/// Gate and up projections of Llama 3.2 1B, merged: hidden 2048, 2 x 8192
/// outputs, bf16. 2 * 2048 * 16384 = 67108864 FLOPs a token; the weight has
/// 16384 * 2048 * 2 = 67108864 bytes, a token 2048 * 2 in and 16384 * 2 out.
TEST_F(CostTest, LinearOfLlama1B) {
  EXPECT_EQ(costOf(tokens("x", "2048xbf16") + ", %w: tensor<16384x2048xbf16>",
                   "%y = weft.linear %x, %w : (tensor<?x2048xbf16>,"
                   " tensor<16384x2048xbf16>) -> tensor<?x16384xbf16>"),
            Cost("67108864*tokens", "67108864 + 36864*tokens"));
}

/// The bias is one addition an output; a packed weight of 95 x 63 in panels of
/// 8 columns and pairs has 12 * 32 * 16 elements.
TEST_F(CostTest, LinearPackedWithBias) {
  EXPECT_EQ(costOf(tokens("x", "63xf32") +
                       ", %w: tensor<12x32x8x2xbf16>, %b: tensor<95xf32>",
                   "%y = weft.linear %x, %w bias %b layout panels<columns = 8,"
                   " group = 2> : (tensor<?x63xf32>, tensor<12x32x8x2xbf16>,"
                   " tensor<95xf32>) -> tensor<?x95xf32>"),
            // (2 * 63 + 1) * 95; 12 * 32 * 16 * 2 + 95 * 4; (63 + 95) * 4
            Cost("12065*tokens", "12668 + 632*tokens"));
}

TEST_F(CostTest, EmbedReadsOnlyTheRowsUsed) {
  std::string arguments = "%i: tensor<?xi32> {weft.symbols = [\"tokens\"]},"
                          " %t: tensor<128256x2048xbf16>";
  std::string types = " : (tensor<?xi32>, tensor<128256x2048xbf16>)"
                      " -> tensor<?x2048xf32>";
  // 4 for the id, 2048 * 2 read, 2048 * 4 written.
  EXPECT_EQ(costOf(arguments, "%x = weft.embed %i, %t" + types),
            Cost("0", "12292*tokens"));
  EXPECT_EQ(
      costOf(arguments, "%x = weft.embed %i, %t {scale = 2.0 : f32}" + types),
      Cost("2048*tokens", "12292*tokens"));
}

TEST_F(CostTest, Norms) {
  EXPECT_EQ(costOf(tokens("x", "2048xf32") + ", %w: tensor<2048xf32>",
                   "%y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32}"
                   " : tensor<?x2048xf32>, tensor<2048xf32>"),
            Cost("8192*tokens", "8192 + 16384*tokens"));
  EXPECT_EQ(costOf(tokens("x", "10xf16") + ", %w: tensor<10xf16>",
                   "%y = weft.layer_norm %x, %w, %w {epsilon = 1.0e-5 : f32}"
                   " : tensor<?x10xf16>, tensor<10xf16>, tensor<10xf16>"),
            // Weight and bias are one tensor here, read once.
            Cost("80*tokens", "20 + 40*tokens"));
}

/// 32 heads of 64, 8 key heads, bf16: 4 * 32 * 64 = 8192 for the products and
/// 32 * 5 for the softmax, per token and visible key; 32 * 64 quotients a
/// token. Keys and values: 2 * 8 * 64 * 2 = 2048 bytes a position. Queries and
/// results: 2 * 32 * 64 * 2 = 8192 bytes, and 8 bytes of indices a token.
TEST_F(CostTest, PagedAttentionOfLlama1B) {
  std::string arguments =
      tokens("q", "32x64xbf16") +
      ", %k: tensor<?x8x64x64xbf16> {weft.symbols = [\"cache_blocks\"]},"
      " %p: tensor<?xi32> {weft.symbols = [\"tokens\"]},"
      " %s: tensor<?xi32> {weft.symbols = [\"starts\"]},"
      " %l: tensor<?xi32> {weft.symbols = [\"sequences\"]},"
      " %t: tensor<?x?xi32> {weft.symbols = [\"sequences\", \"table_width\"]}";
  auto text = [](const std::string &extra) {
    return "%o = weft.attention %q, %k, %k positions %p sequences %p, %s"
           " context %l, %t {scale = 0.125 : f32" +
           extra +
           "} : (tensor<?x32x64xbf16>, tensor<?x8x64x64xbf16>,"
           " tensor<?x8x64x64xbf16>) -> tensor<?x32x64xbf16>";
  };
  auto bytes = [](const std::string &keys) {
    return "2048*" + keys +
           " + 4*sequences + 4*sequences*table_width"
           " + 4*starts + 8200*tokens";
  };
  EXPECT_EQ(costOf(arguments, text(", causal")),
            Cost("8352*seen_keys + 2048*tokens", bytes("read_keys")));
  EXPECT_EQ(costOf(arguments, text(", causal, softcap = 50.0 : f32")),
            Cost("8448*seen_keys + 2048*tokens", bytes("read_keys")));
  EXPECT_EQ(costOf(arguments, text(", causal, window = 512 : i64")),
            Cost("8352*seen_keys.window_512 + 2048*tokens",
                 bytes("read_keys.window_512")));
  EXPECT_EQ(costOf(arguments, text("")),
            Cost("8352*seen_keys.both_sides + 2048*tokens",
                 bytes("read_keys.both_sides")));
}

TEST_F(CostTest, RaggedAttentionReadsEveryRow) {
  EXPECT_EQ(costOf(tokens("q", "4x8xf32") + ", " + tokens("k", "4x8xf32") +
                       ", " + tokens("v", "4x8xf32") +
                       ", %p: tensor<?xi32> {weft.symbols = [\"tokens\"]},"
                       " %s: tensor<3xi32>",
                   "%o = weft.attention %q, %k, %v positions %p sequences %p,"
                   " %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>,"
                   " tensor<?x4x8xf32>, tensor<?x4x8xf32>)"
                   " -> tensor<?x4x8xf32> indices(tensor<?xi32>,"
                   " tensor<?xi32>, tensor<3xi32>)"),
            // 4 * (4 * 8 + 5); 4 * 8; 4 tensors of 128 bytes and 8 of indices.
            Cost("148*seen_keys.both_sides + 32*tokens", "12 + 520*tokens"));
}

TEST_F(CostTest, CacheAppendWritesOnlyItsTokens) {
  EXPECT_EQ(
      costOf(
          "%c: tensor<?x8x64x64xbf16> {weft.symbols = [\"cache_blocks\"]}, " +
              tokens("k", "8x64xf32") +
              ", %s: tensor<?xi32> {weft.symbols = [\"tokens\"]}",
          "%n = weft.cache_append key %c, %k, %s"
          " : tensor<?x8x64x64xbf16>, tensor<?x8x64xf32>"),
      // 512 * 4 read, 512 * 2 written, 4 for the slot.
      Cost("0", "3076*tokens"));
}

TEST_F(CostTest, Rope) {
  EXPECT_EQ(costOf(tokens("x", "32x64xf32") + ", " + tokens("c", "16xf32"),
                   "%y = weft.rope %x, %c, %c"
                   " : tensor<?x32x64xf32>, tensor<?x16xf32>"),
            // 3 * 32 * 32; 2 * 8192 + 64 (one table, read once).
            Cost("3072*tokens", "16448*tokens"));
  EXPECT_EQ(costOf("%p: tensor<?xi32> {weft.symbols = [\"tokens\"]},"
                   " %f: tensor<1x16xf32>",
                   "%c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0>}"
                   " : (tensor<?xi32>, tensor<1x16xf32>) -> tensor<?x16xf32>"),
            Cost("80*tokens", "64 + 132*tokens"));
}

TEST_F(CostTest, Activations) {
  std::string type = " : tensor<?x100xbf16>";
  EXPECT_EQ(
      costOf(tokens("x", "100xbf16"), "%y = weft.activation silu %x" + type),
      Cost("400*tokens", "400*tokens"));
  EXPECT_EQ(costOf(tokens("x", "100xbf16") + ", " + tokens("u", "100xbf16"),
                   "%y = weft.gated_activation gelu_tanh %x, %u" + type),
            Cost("1000*tokens", "600*tokens"));
  EXPECT_EQ(costOf(tokens("x", "100xbf16"),
                   "%y = weft.softcap %x {cap = 30.0 : f32}" + type),
            Cost("300*tokens", "400*tokens"));
}

TEST_F(CostTest, Experts) {
  EXPECT_EQ(costOf(tokens("x", "8xf32"),
                   "%e, %w = weft.route %x {top_k = 2 : i64, renormalize}"
                   " : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>"),
            // 8 * 7 + 2 * 2; 32 + 8 + 8
            Cost("60*tokens", "48*tokens"));
  EXPECT_EQ(costOf(tokens("x", "64xf32") + ", %w: tensor<8x96x64xf32>, " +
                       tokens("e", "2xi32"),
                   "%y = weft.grouped_linear %x, %w, %e : (tensor<?x64xf32>,"
                   " tensor<8x96x64xf32>, tensor<?x2xi32>)"
                   " -> tensor<?x2x96xf32>"),
            // 2 * 64 * 2 * 96; 2 experts of 96 * 64 * 4; 256 + 8 + 768
            Cost("24576*tokens", "49152 + 1032*tokens"));
  EXPECT_EQ(costOf(tokens("x", "2x64xf32") + ", " + tokens("w", "2xf32"),
                   "%y = weft.combine %x, %w : (tensor<?x2x64xf32>,"
                   " tensor<?x2xf32>) -> tensor<?x64xf32>"),
            Cost("256*tokens", "776*tokens"));
}

TEST_F(CostTest, Sampling) {
  EXPECT_EQ(costOf(tokens("x", "64xf32") + ", " + tokens("p", "2xi32") + ", " +
                       tokens("v", "2xf32"),
                   "%y = weft.adjust_logits %x, %p, %v : tensor<?x64xf32>,"
                   " tensor<?x2xi32>, tensor<?x2xf32>"),
            // An entry of 16 bytes changes 4 bytes.
            Cost("3*tokens", "24*tokens"));
  EXPECT_EQ(costOf(tokens("x", "64xf32") + ", " + tokens("c", "2xi32") + ", " +
                       tokens("o", "4xf32"),
                   "%y = weft.sample %x, %c, %o : tensor<?x64xf32>,"
                   " tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>"),
            // 256 + 8 + 16 + 4
            Cost("64*tokens", "284*tokens"));
}
