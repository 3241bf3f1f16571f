//===- SessionApi.cpp - weft_session_* ------------------------------------===//

#include "runtime/Core/Handles.h"
#include "runtime/Llm/EntryInputs.h"

#include <cstring>

using namespace weft::rt;

namespace {

/// Runs a function while nobody else uses the session.
template <typename Function>
weft_status guardSession(weft_session *session, Function function) noexcept {
  return guard([&]() -> Status {
    if (!session)
      return Status::invalid("the session is NULL");
    std::unique_lock lock(session->mutex, std::try_to_lock);
    if (!lock)
      return Status::invalid("the session is in use by another call; use one "
                             "session per thread, or one at a time");
    return function();
  });
}

/// Most that a count of arguments can sensibly be; a larger one is a caller's
/// mistake and must not become an allocation.
constexpr size_t maxArguments = 4096;

Status convertTensors(const weft_tensor *tensors, size_t count,
                      const char *what, std::vector<Argument> &arguments) {
  arguments.clear();
  if (count > maxArguments || (count != 0 && !tensors))
    return Status::invalid(std::to_string(count) + " " + what +
                           (tensors ? " are too many" : " at NULL"));
  for (size_t i = 0; i < count; ++i) {
    const weft_tensor &tensor = tensors[i];
    if (!tensor.name)
      return Status::invalid("the name of tensor " + std::to_string(i) +
                             " of the " + what + " is NULL");
    if (tensor.rank < 0 || tensor.rank > WEFT_MAX_RANK)
      return Status::invalid("tensor '" + std::string(tensor.name) +
                             "' has the rank " + std::to_string(tensor.rank) +
                             "; expected 0 to " +
                             std::to_string(WEFT_MAX_RANK));
    arguments.push_back({tensor.name,
                         {tensor.data,
                          static_cast<DType>(tensor.dtype),
                          {tensor.shape, size_t(tensor.rank)}}});
  }
  return Status::ok();
}

Status stopTrace(weft_session &session) {
  if (!session.trace)
    return Status::ok();
  session.session->removeHook(session.traceHook);
  Status status = session.trace->close();
  session.trace.reset();
  return status;
}

Status startTrace(weft_session &session, const char *path) {
  Result<std::unique_ptr<Trace>> trace = Trace::create(path);
  if (!trace)
    return trace.getStatus();
  session.trace = trace.take();
  session.traceHook = session.session->addHook(session.trace->makeHook());
  return Status::ok();
}

} // namespace

Status weft::rt::convertSymbols(const weft_symbol *symbols, size_t count,
                                std::vector<SymbolValue> &values) {
  values.clear();
  if (count > maxArguments || (count != 0 && !symbols))
    return Status::invalid(std::to_string(count) + " symbols" +
                           (symbols ? " are too many" : " at NULL"));
  for (size_t i = 0; i < count; ++i) {
    if (!symbols[i].name)
      return Status::invalid("the name of symbol " + std::to_string(i) +
                             " is NULL");
    values.push_back({symbols[i].name, symbols[i].value});
  }
  return Status::ok();
}

weft_status weft_session_create(weft_plan *plan,
                                const weft_session_options *options,
                                weft_session **session) {
  if (session)
    *session = nullptr;
  return guard([&]() -> Status {
    if (!plan || !session)
      return Status::invalid("weft_session_create needs a plan and a place for "
                             "the session; one of them is NULL");
    SessionOptions converted;
    if (options) {
      if (options->struct_size < sizeof(weft_session_options))
        return Status::invalid("weft_session_options has a struct_size of " +
                               std::to_string(options->struct_size) +
                               "; set it to sizeof(weft_session_options)");
      if (Status status = convertSymbols(
              options->symbols, options->symbol_count, converted.symbols);
          !status)
        return status;
    }
    Result<std::shared_ptr<Program>> program = plan->getProgram();
    if (!program)
      return program.getStatus();
    Result<std::unique_ptr<Session>> made =
        Session::create(program.take(), converted);
    if (!made)
      return made.getStatus();
    auto handle = std::make_unique<weft_session>();
    handle->session = made.take();
    handle->session->setInputCheck(makeInputCheck(*handle->session));
    *session = handle.release();
    return Status::ok();
  });
}

void weft_session_destroy(weft_session *session) { delete session; }

weft_status weft_session_run(weft_session *session, const char *entry,
                             const weft_tensor *inputs, size_t input_count,
                             const weft_tensor *outputs, size_t output_count,
                             const weft_symbol *symbols, size_t symbol_count) {
  return guardSession(session, [&]() -> Status {
    if (!entry)
      return Status::invalid("the name of the entry is NULL");
    if (Status status =
            convertTensors(inputs, input_count, "inputs", session->inputs);
        !status)
      return status;
    if (Status status =
            convertTensors(outputs, output_count, "outputs", session->outputs);
        !status)
      return status;
    if (Status status = convertSymbols(symbols, symbol_count, session->symbols);
        !status)
      return status;
    return session->session->run(entry, session->inputs, session->outputs,
                                 session->symbols);
  });
}

weft_status weft_session_read_state(weft_session *session, const char *name,
                                    uint64_t offset, void *buffer,
                                    size_t size) {
  return guardSession(session, [&]() -> Status {
    if (!name || (!buffer && size != 0))
      return Status::invalid("weft_session_read_state needs a name and a "
                             "buffer; one of them is NULL");
    return session->session->readState(
        name, offset, {static_cast<std::byte *>(buffer), size});
  });
}

weft_status weft_session_reset(weft_session *session) {
  return guardSession(session, [&] { return session->session->resetStates(); });
}

weft_status weft_session_trace(weft_session *session, const char *path) {
  return guardSession(session, [&]() -> Status {
    Status stopped = stopTrace(*session);
    if (!path || !stopped)
      return stopped;
    return startTrace(*session, path);
  });
}
