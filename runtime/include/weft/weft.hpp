//===- weft.hpp - C++ wrapper of weft.h -----------------------------------===//
//
// Header-only; C++17. Handles free themselves, and a failing call throws
// weft::Error with the sentence of weft_last_error. Ownership, threading and
// what each call checks are described in weft.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#include "weft.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {

/// A failed call: what() is the sentence of weft_last_error.
class Error : public std::runtime_error {
public:
  Error(weft_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}

  weft_status getStatus() const { return status; }

private:
  weft_status status;
};

/// Throws Error unless `status` is WEFT_OK.
inline void check(weft_status status) {
  if (status != WEFT_OK)
    throw Error(status, weft_last_error());
}

/// The weft_dtype of a C++ element type. f16 and bf16 have none: make the
/// weft_tensor by hand.
template <typename T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr weft_dtype value = WEFT_F32;
};
template <> struct DTypeOf<double> {
  static constexpr weft_dtype value = WEFT_F64;
};
template <> struct DTypeOf<int8_t> {
  static constexpr weft_dtype value = WEFT_I8;
};
template <> struct DTypeOf<uint8_t> {
  static constexpr weft_dtype value = WEFT_U8;
};
template <> struct DTypeOf<int16_t> {
  static constexpr weft_dtype value = WEFT_I16;
};
template <> struct DTypeOf<int32_t> {
  static constexpr weft_dtype value = WEFT_I32;
};
template <> struct DTypeOf<int64_t> {
  static constexpr weft_dtype value = WEFT_I64;
};
template <> struct DTypeOf<uint16_t> {
  static constexpr weft_dtype value = WEFT_U16;
};
template <> struct DTypeOf<uint32_t> {
  static constexpr weft_dtype value = WEFT_U32;
};
template <> struct DTypeOf<uint64_t> {
  static constexpr weft_dtype value = WEFT_U64;
};
template <> struct DTypeOf<bool> {
  static constexpr weft_dtype value = WEFT_BOOL;
};

/// A tensor over memory of the caller, which must outlive the call it is
/// passed to; so must `name`. InvalidArgument for more than WEFT_MAX_RANK
/// dimensions.
template <typename T>
weft_tensor makeTensor(const char *name, T *data,
                       std::initializer_list<int64_t> shape) {
  if (shape.size() > WEFT_MAX_RANK)
    throw Error(WEFT_INVALID_ARGUMENT,
                std::string("tensor '") + name + "' has too many dimensions");
  using Element = std::remove_const_t<T>;
  weft_tensor tensor = {};
  tensor.name = name;
  tensor.data = const_cast<Element *>(data);
  tensor.dtype = DTypeOf<Element>::value;
  tensor.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  return tensor;
}

/// An open plan.
class Plan {
public:
  explicit Plan(const std::string &path, uint32_t threads = 0,
                const char *device = nullptr) {
    weft_plan_options options = {sizeof(options), threads, device};
    weft_plan *opened = nullptr;
    check(weft_plan_open(path.c_str(), &options, &opened));
    handle.reset(opened);
  }

  weft_plan *get() const { return handle.get(); }
  std::string getMeta() const { return weft_plan_meta(get()); }

  std::vector<std::string> getEntries() const {
    std::vector<std::string> names;
    while (const char *name = weft_plan_entry(get(), names.size()))
      names.push_back(name);
    return names;
  }

  /// Inputs or outputs of an entry, or the states of the plan; the strings in
  /// them live as long as the plan.
  std::vector<weft_tensor_info>
  getTensors(weft_tensor_role role, const std::string &entry = "",
             const std::vector<weft_symbol> &symbols = {}) const {
    std::vector<weft_tensor_info> tensors;
    for (;;) {
      weft_tensor_info info;
      weft_status status =
          weft_plan_tensor(get(), entry.c_str(), role, tensors.size(),
                           symbols.data(), symbols.size(), &info);
      // The first one that is not found may be a wrong entry; later ones are
      // the end.
      if (status == WEFT_NOT_FOUND && (!tensors.empty() || hasEntry(entry)))
        return tensors;
      check(status);
      tensors.push_back(info);
    }
  }

  std::vector<weft_symbol_info> getSymbols() const {
    std::vector<weft_symbol_info> symbols;
    weft_symbol_info info;
    while (weft_plan_symbol(get(), symbols.size(), &info) == WEFT_OK)
      symbols.push_back(info);
    return symbols;
  }

  weft_memory getMemory(const std::vector<weft_symbol> &symbols = {}) const {
    weft_memory memory;
    check(weft_plan_memory(get(), symbols.data(), symbols.size(), &memory));
    return memory;
  }

private:
  bool hasEntry(const std::string &name) const {
    std::vector<std::string> entries = getEntries();
    return name.empty() ||
           std::find(entries.begin(), entries.end(), name) != entries.end();
  }

  struct Closer {
    void operator()(weft_plan *plan) const { weft_plan_close(plan); }
  };
  std::unique_ptr<weft_plan, Closer> handle;
};

/// States and workspace for runs of a plan, which may be closed meanwhile.
class Session {
public:
  explicit Session(const Plan &plan,
                   const std::vector<weft_symbol> &symbols = {}) {
    weft_session_options options = {sizeof(options), symbols.data(),
                                    symbols.size()};
    weft_session *created = nullptr;
    check(weft_session_create(plan.get(), &options, &created));
    handle.reset(created);
  }

  weft_session *get() const { return handle.get(); }

  void run(const std::string &entry, const std::vector<weft_tensor> &inputs,
           const std::vector<weft_tensor> &outputs,
           const std::vector<weft_symbol> &symbols = {}) {
    check(weft_session_run(get(), entry.c_str(), inputs.data(), inputs.size(),
                           outputs.data(), outputs.size(), symbols.data(),
                           symbols.size()));
  }

  void readState(const std::string &name, uint64_t offset, void *buffer,
                 size_t size) {
    check(weft_session_read_state(get(), name.c_str(), offset, buffer, size));
  }

  void reset() { check(weft_session_reset(get())); }
  void startTrace(const std::string &path) {
    check(weft_session_trace(get(), path.c_str()));
  }
  void stopTrace() { check(weft_session_trace(get(), nullptr)); }

private:
  struct Destroyer {
    void operator()(weft_session *session) const {
      weft_session_destroy(session);
    }
  };
  std::unique_ptr<weft_session, Destroyer> handle;
};

} // namespace weft

#endif // WEFT_WEFT_HPP
