//===- VerifyParts.h - What the checks of a plan have in common -----------===//
//
// Internal to the files of Verify.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_VERIFYPARTS_H
#define WEFT_RUNTIME_FORMAT_VERIFYPARTS_H

#include "runtime/Format/Verify.h"

#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace weft::rt::verify {

inline constexpr size_t maxRank = 16;
inline constexpr size_t maxNameBytes = 1024;

template <typename... T> std::string concat(const T &...parts) {
  std::string text;
  auto add = [&](const auto &part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

template <typename... T> Status corrupt(const T &...parts) {
  return Status::corrupt(concat(parts...));
}

/// Calls `check` for each element until one fails.
template <typename List, typename Check>
Status forEach(const List &list, Check check) {
  for (const auto &item : list)
    if (Status status = check(item); !status)
      return status;
  return Status::ok();
}

/// The names of one kind of thing: valid text and all different.
class Names {
public:
  explicit Names(const char *kind) : kind(kind) {}

  Status add(const std::string &name) {
    if (name.empty())
      return corrupt("a ", kind, " has no name");
    if (name.size() > maxNameBytes)
      return corrupt("the name of a ", kind, " has ", name.size(),
                     " bytes, at most ", maxNameBytes, " are allowed");
    if (!isUtf8(name))
      return corrupt("the name of a ", kind, " is not UTF-8 text");
    if (!seen.insert(name).second)
      return corrupt("two ", kind, "s are named '", name, "'");
    return Status::ok();
  }

private:
  const char *kind;
  std::unordered_set<std::string_view> seen;
};

inline Status checkText(const std::string &text, const char *what) {
  return isUtf8(text) ? Status::ok() : corrupt(what, " is not UTF-8 text");
}

/// Which symbols an expression may use, and what it is for in messages.
struct ExprScope {
  const Plan &plan;
  std::vector<bool> allowed;
  std::string where;

  /// With the symbols that live as long as a session.
  ExprScope(const Plan &plan, std::string where)
      : plan(plan), where(std::move(where)) {
    for (const Symbol &symbol : plan.symbols)
      allowed.push_back(symbol.perSession);
  }

  /// Allows `count` more values, numbered behind the symbols.
  void addValues(size_t count) { allowed.insert(allowed.end(), count, true); }

  Status check(const Expr &expr, const char *what) const {
    if (Status status = expr.verify(allowed.size()); !status)
      return corrupt("the ", what, " of ", where, ": ", status.getMessage());
    return forEach(expr.getOps(), [&](const ExprOp &op) {
      if (op.kind == ExprOp::Kind::Symbol && !allowed[op.value])
        return corrupt("the ", what, " of ", where, " uses the symbol '",
                       plan.symbols[op.value].name,
                       "', which has no value there");
      return Status::ok();
    });
  }

  Status checkShape(const std::vector<Expr> &shape) const {
    if (shape.size() > maxRank)
      return corrupt(where, " has rank ", shape.size(), ", at most ", maxRank,
                     " is allowed");
    return forEach(shape, [&](const Expr &dim) { return check(dim, "shape"); });
  }
};

/// Everything about an entry but the places of its temporary buffers.
Status checkEntry(const Plan &plan, const Entry &entry);

} // namespace weft::rt::verify

#endif // WEFT_RUNTIME_FORMAT_VERIFYPARTS_H
