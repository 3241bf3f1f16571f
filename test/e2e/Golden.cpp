#include "test/e2e/Golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <regex>
#include <stdexcept>

#include <nlohmann/json.hpp>

using namespace weft::e2e;
namespace fs = std::filesystem;

Table weft::e2e::readNpy(const fs::path &file) {
  auto fail = [&](const std::string &why) {
    throw std::runtime_error(file.string() + ": " + why);
  };
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    fail("cannot open");
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.size() < 10 || bytes.compare(0, 8, {"\x93NUMPY\x01\x00", 8}) != 0)
    fail("expected a version 1.0 .npy file");
  size_t headerSize = uint8_t(bytes[8]) + 256u * uint8_t(bytes[9]);
  if (bytes.size() < 10 + headerSize)
    fail("the header is cut off");
  std::string header = bytes.substr(10, headerSize);
  std::smatch shape;
  if (header.find("'<f4'") == std::string::npos ||
      header.find("'fortran_order': False") == std::string::npos ||
      !std::regex_search(header, shape,
                         std::regex(R"(\((\d{1,9}),\s*(\d{1,9})?\))")))
    fail(
        "expected little-endian float32 in C order with one or two dimensions");
  Table table;
  table.rows = std::stoll(shape[1]);
  table.columns = shape[2].matched ? std::stoll(shape[2]) : 1;
  size_t count = size_t(table.rows) * size_t(table.columns);
  if (bytes.size() != 10 + headerSize + 4 * count)
    fail("the size of the file does not fit its shape");
  table.values.resize(count);
  std::memcpy(table.values.data(), bytes.data() + 10 + headerSize, 4 * count);
  return table;
}

Golden Golden::load(const fs::path &folder) {
  std::ifstream stream(folder / "golden.json");
  if (!stream)
    throw std::runtime_error(
        (folder / "golden.json").string() +
        ": cannot open; build the target weft-e2e-data or run ctest, which "
        "unpacks test/e2e/data");
  nlohmann::json document = nlohmann::json::parse(stream);
  Golden golden;
  for (int i = 0; document.contains("ids_" + std::to_string(i)); ++i) {
    std::string number = std::to_string(i);
    GoldenCase entry;
    entry.ids = document["ids_" + number].get<std::vector<int32_t>>();
    if (document.contains("greedy_" + number))
      entry.greedy = document["greedy_" + number].get<std::vector<int32_t>>();
    fs::path output = folder / ("golden_" + number + "_output.npy");
    if (!fs::exists(output))
      output = folder / ("golden_" + number + "_logits.npy");
    entry.output = readNpy(output);
    golden.cases.push_back(std::move(entry));
  }
  const char *loss = "val_loss_nats_per_token_f32_windows_of_256";
  if (document.contains(loss))
    golden.validationLoss = document[loss].get<double>();
  return golden;
}

fs::path weft::e2e::dataFolder(const std::string &name) {
  return fs::path(WEFT_E2E_DATA) / name;
}

std::vector<std::string> weft::e2e::familyNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto &entry :
       fs::directory_iterator(dataFolder("families"), error))
    if (fs::exists(entry.path() / "golden.json"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

static std::string prompt(size_t i) {
  return "prompt " + std::to_string(i) + ": ";
}

std::string weft::e2e::compareOutputs(const Golden &golden, const RunModel &run,
                                      double tolerance, double *largest) {
  std::string report;
  double worst = 0;
  for (size_t c = 0; c < golden.cases.size(); ++c) {
    const Table &expected = golden.cases[c].output;
    Table actual = run(golden.cases[c].ids);
    if (actual.rows != expected.rows || actual.columns != expected.columns ||
        actual.values.size() != expected.values.size()) {
      report += prompt(c) + "the output is [" + std::to_string(actual.rows) +
                ", " + std::to_string(actual.columns) + "], expected [" +
                std::to_string(expected.rows) + ", " +
                std::to_string(expected.columns) + "]\n";
      continue;
    }
    // Negated comparisons, so that a NaN counts as a difference.
    double caseWorst = 0;
    size_t at = 0;
    for (size_t i = 0; i < actual.values.size(); ++i) {
      double difference =
          std::fabs(double(actual.values[i]) - double(expected.values[i]));
      if (!(difference <= caseWorst)) {
        caseWorst = std::isnan(difference) ? INFINITY : difference;
        at = i;
      }
    }
    worst = std::max(worst, caseWorst);
    if (!(caseWorst <= tolerance))
      report += prompt(c) + "row " +
                std::to_string(int64_t(at) / actual.columns) + ", column " +
                std::to_string(int64_t(at) % actual.columns) + " is " +
                std::to_string(actual.values[at]) + ", expected " +
                std::to_string(expected.values[at]) + "\n";
  }
  if (largest)
    *largest = worst;
  return report;
}

static std::string firstDifference(size_t c, std::span<const int32_t> actual,
                                   std::span<const int32_t> expected) {
  if (actual.size() != expected.size())
    return prompt(c) + std::to_string(actual.size()) + " ids, expected " +
           std::to_string(expected.size()) + "\n";
  for (size_t i = 0; i < expected.size(); ++i)
    if (actual[i] != expected[i])
      return prompt(c) + "greedy id " + std::to_string(i) + " is " +
             std::to_string(actual[i]) + ", expected " +
             std::to_string(expected[i]) + "\n";
  return "";
}

std::string weft::e2e::compareGreedy(const Golden &golden,
                                     const RunGreedy &run) {
  std::string report;
  for (size_t c = 0; c < golden.cases.size(); ++c) {
    const GoldenCase &entry = golden.cases[c];
    report += firstDifference(c, run(entry.ids, int64_t(entry.greedy.size())),
                              entry.greedy);
  }
  return report;
}

std::string weft::e2e::compareGreedyForced(const Golden &golden,
                                           const RunModel &run) {
  std::string report;
  for (size_t c = 0; c < golden.cases.size(); ++c) {
    const GoldenCase &entry = golden.cases[c];
    if (entry.greedy.empty())
      continue;
    std::vector<int32_t> ids = entry.ids;
    ids.insert(ids.end(), entry.greedy.begin(), entry.greedy.end() - 1);
    Table logits = run(ids);
    std::vector<int32_t> chosen;
    for (int64_t row = int64_t(entry.ids.size()) - 1; row < logits.rows;
         ++row) {
      auto first = logits.values.begin() + row * logits.columns;
      chosen.push_back(
          int32_t(std::max_element(first, first + logits.columns) - first));
    }
    report += firstDifference(c, chosen, entry.greedy);
  }
  return report;
}
