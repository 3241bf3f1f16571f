//===- Report.cpp - weft-bisect: what was found, for people and programs --===//

#include "tools/weft-bisect/Report.h"

#include "tools/common/Table.h"

#include "llvm/Support/JSON.h"

#include <cmath>
#include <cstdio>

using namespace weft;
using namespace weft::bisect;
using weft::tools::Table;

const PhaseRow *Report::findBadPhase() const {
  for (const PhaseRow &row : phases)
    if (row.difference.isBad())
      return &row;
  return nullptr;
}

static std::string formatError(double error) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", error);
  return text;
}

static void printPhases(const Report &report, std::ostream &out) {
  Table table({{"phase"},
               {"compared with"},
               {"max abs", Table::Align::Right},
               {"max rel", Table::Align::Right},
               {""}});
  for (const PhaseRow &row : report.phases) {
    if (row.before.empty()) {
      table.addRow({row.name, "-"});
      continue;
    }
    if (row.isUnchanged) {
      table.addRow({row.name, row.before, "", "", "same IR"});
      continue;
    }
    table.addRow({row.name, row.before, formatError(row.difference.absolute),
                  formatError(row.difference.relative),
                  row.difference.isBad() ? "DIFFERS" : ""});
  }
  table.print(out);
}

static void printCommands(const Report &report, std::ostream &out) {
  Table table({{"command", Table::Align::Right},
               {"label"},
               {"kernel"},
               {"computes"},
               {"max abs", Table::Align::Right},
               {"max rel", Table::Align::Right},
               {"step", Table::Align::Right},
               {""}});
  for (size_t i = 0; i < report.commands.size(); ++i) {
    const CommandRow &row = report.commands[i];
    bool isFirst = report.firstBad && report.firstBad->command == i;
    table.addRow({std::to_string(i), row.label, row.kernel, row.program,
                  formatError(row.difference.absolute),
                  formatError(row.difference.relative),
                  std::to_string(row.step),
                  isFirst       ? "DIFFERS FIRST"
                  : row.isBad() ? "DIFFERS"
                                : ""});
  }
  table.print(out);
}

static void printFirstBad(const FirstBad &bad, std::ostream &out) {
  out << "First command that differs: " << bad.command << " '" << bad.row.label
      << "' (kernel " << bad.row.kernel << ", " << bad.row.target
      << "), in step " << bad.step << ".\n";
  if (!bad.row.note.empty())
    out << "  " << bad.row.note << "\n";
  if (bad.row.difference.isBad())
    out << "  " << bad.row.difference.describe("plan", "reference") << "\n";
  if (!bad.savedTo.empty())
    out << "  Its tensors are in " << bad.savedTo << ".\n";
}

/// What to say where the plan differs and no command is to blame.
static void printRounding(const std::optional<ChoiceDifference> &choice,
                          std::ostream &out) {
  out << "Every command computes what it should from its inputs and gets the "
         "right ones: what differs is\nrounding that adds up";
  if (choice)
    out << ", until a near tie of experts is decided otherwise and a token "
           "goes elsewhere:\n  "
        << choice->describe() << ".\n";
  else
    out << ".\n";
  out << "Compare in f32 (--dtype f32), or with other tokens.\n";
}

void Report::print(std::ostream &out) const {
  out << model << ": " << ids.size() << " tokens in " << steps
      << (steps == 1 ? " step" : " steps") << ", " << commands.size()
      << " commands\n\n";
  printPhases(*this, out);
  out << "\n";
  printCommands(*this, out);
  out << "\n";
  const PhaseRow *phase = findBadPhase();
  if (phase)
    out << "First phase that differs: " << phase->name << ", from "
        << phase->before << ".\n  "
        << phase->difference.describe(phase->name, phase->before) << "\n";
  if (firstBad)
    printFirstBad(*firstBad, out);
  else if (phase && phase == &phases.back())
    printRounding(firstChoice, out);
  if (isSame())
    out << "No difference: the plan computes what the model means.\n";
}

/// JSON has no infinity: an error that is not finite is null.
static llvm::json::Value toJson(double number) {
  return std::isfinite(number) ? llvm::json::Value(number)
                               : llvm::json::Value(nullptr);
}

static void printDifference(llvm::json::OStream &json,
                            const Difference &difference) {
  json.attribute("tensor", difference.name);
  json.attribute("max_abs", toJson(difference.absolute));
  json.attribute("max_rel", toJson(difference.relative));
  json.attribute("tolerance", difference.tolerance);
  json.attribute("elements", int64_t(difference.elements));
  json.attribute("bad_elements", int64_t(difference.badElements));
  json.attributeArray("at", [&] {
    for (int64_t index : difference.at)
      json.value(index);
  });
  json.attribute("expected", toJson(difference.expected));
  json.attribute("found", toJson(difference.found));
}

static void printRow(llvm::json::OStream &json, size_t index,
                     const CommandRow &row) {
  json.attribute("command", int64_t(index));
  json.attribute("label", row.label);
  json.attribute("kernel", row.kernel);
  json.attribute("computes", row.program);
  json.attribute("target", row.target);
  json.attribute("step", int64_t(row.step));
  json.attribute("differs", row.isBad());
  if (!row.note.empty())
    json.attribute("note", row.note);
  json.attributeObject("difference",
                       [&] { printDifference(json, row.difference); });
}

void Report::printJson(llvm::raw_ostream &out) const {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("model", model);
    // Paths can hold any bytes.
    json.attribute("plan", llvm::json::fixUTF8(plan));
    json.attribute("same", isSame());
    json.attributeArray("ids", [&] {
      for (int32_t id : ids)
        json.value(id);
    });
    json.attribute("steps", int64_t(steps));
    const PhaseRow *phase = findBadPhase();
    json.attribute("first_phase", phase ? llvm::json::Value(phase->name)
                                        : llvm::json::Value(nullptr));
    if (firstBad)
      json.attributeObject("first_command", [&] {
        printRow(json, firstBad->command, firstBad->row);
        if (!firstBad->savedTo.empty())
          json.attribute("saved_to", llvm::json::fixUTF8(firstBad->savedTo));
      });
    if (firstChoice)
      json.attributeObject("first_choice", [&] {
        json.attribute("step", int64_t(firstChoice->step));
        json.attribute("token", firstChoice->row);
        json.attribute("label", firstChoice->label);
        json.attribute("reference", llvm::json::Array(firstChoice->reference));
        json.attribute("plan", llvm::json::Array(firstChoice->plan));
        json.attribute("gap", toJson(firstChoice->gap));
        json.attribute("drift", toJson(firstChoice->drift));
      });
    json.attributeArray("phases", [&] {
      for (const PhaseRow &row : phases)
        json.object([&] {
          json.attribute("phase", row.name);
          if (row.before.empty())
            return;
          json.attribute("compared_with", row.before);
          json.attribute("same_ir", row.isUnchanged);
          json.attribute("differs", row.difference.isBad());
          json.attributeObject("difference",
                               [&] { printDifference(json, row.difference); });
        });
    });
    json.attributeArray("commands", [&] {
      for (size_t i = 0; i < commands.size(); ++i)
        json.object([&] { printRow(json, i, commands[i]); });
    });
  });
  out << "\n";
}
