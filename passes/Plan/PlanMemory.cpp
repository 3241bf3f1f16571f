//===- PlanMemory.cpp - Placing temporaries in a workspace ----------------===//

#include "dialects/Plan/PlanDialect.h"
#include "passes/Plan/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

namespace weft::plan {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;

namespace {

constexpr int64_t alignment = 64;

/// A temporary: alive from the command that writes it to the last that reads
/// it, both included.
struct Temporary {
  plan::BufferOp buffer;
  int64_t bytes; ///< Per unit of its class, a multiple of the alignment.
  int64_t first, last;
  int64_t offset = 0;

  bool overlaps(const Temporary &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Temporaries whose sizes are multiples of one polynomial, their unit, such as
/// "tokens" or "7 + tokens".
using Class = SmallVector<Temporary>;

/// The greatest common divisor of a polynomial's coefficients.
int64_t getContent(const Polynomial &size) {
  int64_t content = 0;
  for (const auto &[monomial, coefficient] : size.getTerms())
    content = std::gcd(content, coefficient);
  return content;
}

Polynomial divide(const Polynomial &size, int64_t content) {
  Polynomial unit;
  for (const auto &[monomial, coefficient] : size.getTerms()) {
    Polynomial term(coefficient / content);
    for (const std::string &symbol : monomial)
      term = term * Polynomial::symbol(symbol);
    unit += term;
  }
  return unit;
}

/// Greedy by size; returns the bytes used.
int64_t place(Class &temporaries) {
  SmallVector<Temporary *> order;
  for (Temporary &temporary : temporaries)
    order.push_back(&temporary);
  // Equal sizes in the order of the commands (pointers into one vector).
  llvm::sort(order, [](Temporary *a, Temporary *b) {
    return std::make_pair(-a->bytes, a) < std::make_pair(-b->bytes, b);
  });
  SmallVector<Temporary *> placed; // By offset.
  int64_t peak = 0;
  for (Temporary *temporary : order) {
    int64_t offset = 0;
    for (Temporary *other : placed) {
      if (!temporary->overlaps(*other))
        continue;
      if (other->offset >= offset + temporary->bytes)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    temporary->offset = offset;
    peak = std::max(peak, offset + temporary->bytes);
    placed.insert(llvm::upper_bound(placed, temporary,
                                    [](Temporary *a, Temporary *b) {
                                      return a->offset < b->offset;
                                    }),
                  temporary);
  }
  return peak;
}

class PlanMemory : public plan::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<plan::EntryOp>())
      if (failed(verifySizes(entry)))
        return signalPassFailure();
    for (auto entry : getOperation().getOps<plan::EntryOp>())
      planEntry(entry);
  }

  static bool isPositive(const Polynomial &size) {
    return !size.getTerms().empty() &&
           llvm::all_of(size.getTerms(),
                        [](const auto &term) { return term.second > 0; });
  }

  /// Reports sizes that may be negative or nothing.
  LogicalResult verifySizes(plan::EntryOp entry) {
    bool valid = true;
    for (auto buffer : entry.getBody().front().getOps<plan::BufferOp>()) {
      if (buffer.getKind() != plan::BufferKind::Temp ||
          isPositive(buffer.getByteSize()))
        continue;
      buffer.emitOpError() << "has " << buffer.getByteSize().str()
                           << " bytes; a temporary's size must be a sum of "
                              "positive multiples of products of symbols";
      valid = false;
    }
    return success(valid);
  }

  void planEntry(plan::EntryOp entry) {
    std::map<Polynomial, Class> classes = collect(entry);
    OpBuilder builder(entry.getContext());
    Polynomial workspace;
    for (auto &[unit, temporaries] : classes) {
      int64_t peak = place(temporaries);
      for (Temporary &temporary : temporaries)
        temporary.buffer.setOffsetAttr(builder.getStringAttr(
            (workspace + unit * Polynomial(temporary.offset)).str()));
      workspace += unit * Polynomial(peak);
    }
    SmallVector<Attribute> bounds = getLowerBounds(entry, builder);
    entry.setWorkspaceAttr(builder.getStringAttr(workspace.str()));
    entry.setLowerBoundAttr(builder.getArrayAttr(bounds));
    remark::analysis(entry.getLoc(),
                     remark::RemarkOpts::name("memory").category("plan"))
        << remark::add("entry {0}: workspace of {1} bytes",
                       entry.getSymName().str(), workspace.str());
  }

  /// Numbers the commands and finds each temporary's lifetime.
  std::map<Polynomial, Class> collect(plan::EntryOp entry) {
    DenseMap<Operation *, int64_t> numbers;
    for (auto launch : entry.getBody().front().getOps<plan::LaunchOp>())
      numbers[launch] = numbers.size();
    std::map<Polynomial, Class> classes;
    for (auto buffer : entry.getBody().front().getOps<plan::BufferOp>()) {
      if (buffer.getKind() != plan::BufferKind::Temp)
        continue;
      int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
      for (Operation *user : buffer->getUsers()) {
        first = std::min(first, numbers.lookup(user));
        last = std::max(last, numbers.lookup(user));
      }
      Polynomial size = buffer.getByteSize();
      int64_t content = getContent(size);
      int64_t bytes = llvm::alignTo(content, alignment);
      classes[divide(size, content)].push_back({buffer, bytes, first, last});
    }
    return classes;
  }

  /// Sums of the temporaries alive at each command, without those that another
  /// one exceeds whatever the symbols are.
  SmallVector<Attribute> getLowerBounds(plan::EntryOp entry,
                                        OpBuilder &builder) {
    std::map<Polynomial, Class> classes = collect(entry);
    SmallVector<Polynomial> bounds;
    int64_t commands =
        llvm::range_size(entry.getBody().front().getOps<plan::LaunchOp>());
    for (int64_t command = 0; command < commands; ++command) {
      Polynomial sum;
      for (auto &[unit, temporaries] : classes)
        for (Temporary &temporary : temporaries)
          if (temporary.first <= command && command <= temporary.last)
            sum += temporary.buffer.getByteSize();
      if (llvm::any_of(bounds, [&](const Polynomial &other) {
            return isAtMost(sum, other);
          }))
        continue;
      llvm::erase_if(bounds, [&](const Polynomial &other) {
        return isAtMost(other, sum);
      });
      bounds.push_back(sum);
    }
    SmallVector<Attribute> result;
    for (const Polynomial &bound : bounds)
      result.push_back(builder.getStringAttr(bound.str()));
    return result;
  }

  /// Whether a <= b for all values of the symbols, which are not negative.
  static bool isAtMost(const Polynomial &a, const Polynomial &b) {
    return llvm::all_of(a.getTerms(), [&](const auto &term) {
      auto it = b.getTerms().find(term.first);
      return it != b.getTerms().end() && term.second <= it->second;
    });
  }
};

} // namespace
