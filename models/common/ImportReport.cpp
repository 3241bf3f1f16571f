//===- ImportReport.cpp - Everything an import could not take -------------===//

#include "models/common/ImportReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft {

/// Text of a foreign file can hold anything; a report stays one line a problem
/// and valid UTF-8 whatever it quotes.
static std::string clean(const Twine &text) {
  constexpr size_t maxLength = 400;
  std::string result;
  for (char c : text.str()) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += "\\x" + utohexstr(static_cast<unsigned char>(c), true, 2);
    else
      result += c;
    if (result.size() > maxLength) {
      result += "...";
      break;
    }
  }
  return json::isUTF8(result) ? result : json::fixUTF8(result);
}

void ImportReport::add(ImportProblem problem) {
  bool isError = problem.severity == ImportProblem::Severity::Error;
  (isError ? errorCount : warningCount)++;
  if (problems.size() < maxProblems)
    problems.push_back(std::move(problem));
}

void ImportReport::error(const Twine &where, const Twine &found,
                         const Twine &expected, const Twine &advice) {
  add({ImportProblem::Severity::Error, clean(where), clean(found), "",
       clean(expected), clean(advice)});
}

void ImportReport::unreadable(const Twine &where, Error reason,
                              const Twine &expected, const Twine &advice) {
  add({ImportProblem::Severity::Error, clean(where), "",
       clean(toString(std::move(reason))), clean(expected), clean(advice)});
}

void ImportReport::warning(const Twine &where, const Twine &found,
                           const Twine &expected, const Twine &advice) {
  add({ImportProblem::Severity::Warning, clean(where), clean(found), "",
       clean(expected), clean(advice)});
}

static StringRef getName(ImportProblem::Severity severity) {
  return severity == ImportProblem::Severity::Error ? "error" : "warning";
}

static void printProblem(raw_ostream &os, const ImportProblem &problem) {
  os << getName(problem.severity) << ": " << problem.where << ": ";
  if (problem.reason.empty())
    os << "found " << problem.found << ", ";
  else
    os << problem.reason << "; ";
  os << "expected " << problem.expected;
  if (!problem.advice.empty())
    os << "; " << problem.advice;
  os << "\n";
}

void ImportReport::print(raw_ostream &os, StringRef prefix) const {
  for (const ImportProblem &problem : problems) {
    os << prefix;
    printProblem(os, problem);
  }
  if (size_t more = errorCount + warningCount - problems.size())
    os << prefix << "and " << more << " more problems of the same import\n";
}

json::Value ImportReport::toJson() const {
  json::Array list;
  for (const ImportProblem &problem : problems)
    list.push_back(json::Object{{"severity", getName(problem.severity)},
                                {"where", problem.where},
                                {"found", problem.found},
                                {"reason", problem.reason},
                                {"expected", problem.expected},
                                {"advice", problem.advice}});
  return json::Object{{"errors", static_cast<int64_t>(errorCount)},
                      {"warnings", static_cast<int64_t>(warningCount)},
                      {"problems", std::move(list)}};
}

Error ImportReport::takeError() const {
  if (!hasErrors())
    return Error::success();
  std::string text;
  raw_string_ostream os(text);
  for (const ImportProblem &problem : problems)
    if (problem.severity == ImportProblem::Severity::Error)
      printProblem(os, problem);
  return createStringError(inconvertibleErrorCode(), StringRef(text).rtrim());
}

} // namespace weft
