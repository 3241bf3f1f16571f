//===- ToyPlan.h - A small plan made by hand, for runtime tests -----------===//
//
// Width is 8, W and b are the parameters, M is the state `memory`:
//
//   hidden = x W^T + b          launch layers.0.linear
//   copied = hidden             copy   layers.0.keep
//   y      = copied W^T + b     launch layers.1.linear
//   M[slots[t]] += x[t]         launch memory.append
//   sums   = columns of M       launch memory.sum
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_RUNTIME_SUPPORT_TOYPLAN_H
#define WEFT_TEST_RUNTIME_SUPPORT_TOYPLAN_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Reader.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::rt::toy {

constexpr int64_t width = 8;

/// Symbols of the plan: tokens 1 to 16 per run; rows 1 to 4096 per session.
/// Entry "step": inputs x f32 [tokens, 8] and slots i32 [tokens], outputs
/// y f32 [tokens, 8] and sums f32 [8].
Plan makePlan();

/// W[o, i] = (o == i ? 2 : 0) + 0.5 * (i == 0), and b[o] = o.
std::vector<float> makeWeight();
std::vector<float> makeBias();

/// y for one row x, computed here in double.
std::vector<double> expectedLinear(const std::vector<double> &x);

/// One of the functions of ToyKernels.c as code that needs `features`.
Code makeCode(const std::string &symbol, const std::string &target,
              std::vector<std::string> features);

/// An artifact in memory. `params` are the bytes of each parameter.
std::unique_ptr<Artifact> makeArtifact(Plan plan,
                                       std::vector<std::vector<float>> params);
/// The toy plan with its parameters.
std::unique_ptr<Artifact> makeArtifact();

/// Writes the toy plan, or one with its parameters, as a file with the real
/// writer.
Status writeFile(const std::string &path, Plan plan = makePlan());

} // namespace weft::rt::toy

#endif // WEFT_TEST_RUNTIME_SUPPORT_TOYPLAN_H
