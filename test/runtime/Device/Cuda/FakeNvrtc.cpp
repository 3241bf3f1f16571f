//===- FakeNvrtc.cpp - NVRTC for the driver without a GPU -----------------===//
//
// Takes any source for a program that FakeDriver.cpp loads, but for one with
// "#error". Its version is 13.0; it knows sm_80 and sm_90.
//
//===----------------------------------------------------------------------===//

#include <cstring>
#include <string>

namespace {

struct Program {
  std::string source, log;
};

constexpr int success = 0, compilationError = 6;
constexpr char cubin[] = "FAKE";

Program &get(void *program) { return *static_cast<Program *>(program); }

int copy(const std::string &text, char *to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}

} // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return success;
}

int nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return success;
}

int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = 80;
  archs[1] = 90;
  return success;
}

const char *nvrtcGetErrorString(int result) {
  return result == success ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

int nvrtcCreateProgram(void **program, const char *source, const char *, int,
                       const char *const *, const char *const *) {
  *program = new Program{source, ""};
  return success;
}

int nvrtcDestroyProgram(void **program) {
  delete static_cast<Program *>(*program);
  *program = nullptr;
  return success;
}

int nvrtcCompileProgram(void *program, int, const char *const *) {
  Program &made = get(program);
  if (made.source.find("#error") == std::string::npos)
    return success;
  made.log = "kernel.cu(1): error: #error directive\n";
  return compilationError;
}

int nvrtcGetCUBINSize(void *, size_t *size) {
  *size = sizeof(cubin);
  return success;
}

int nvrtcGetCUBIN(void *, char *to) { return copy(cubin, to); }

int nvrtcGetPTXSize(void *, size_t *size) {
  *size = sizeof(cubin);
  return success;
}

int nvrtcGetPTX(void *, char *to) { return copy(cubin, to); }

int nvrtcGetProgramLogSize(void *program, size_t *size) {
  *size = get(program).log.size() + 1;
  return success;
}

int nvrtcGetProgramLog(void *program, char *to) {
  return copy(get(program).log, to);
}

} // extern "C"
