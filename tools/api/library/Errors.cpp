// Error objects, buffers, requests to stop, and versions.
#include "tools/api/StopHandle.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Fence.h"
#include "tools/api/library/Handles.h"

#include "engine/json/Document.h"
#include "engine/logging/Json.h"
#include "engine/status/OptionNames.h"

#include <new>

using namespace npar;

namespace npar::api {

static_assert(NPAR_TIMEOUT == static_cast<int>(engine::Code::Timeout) && NPAR_INTERNAL == static_cast<int>(engine::Code::Internal) &&
                  NPAR_STOPPED == static_cast<int>(engine::Code::Stopped),
              "the codes are those of engine/status");

/// What a caller gets when there is no memory for an error object. It is never freed.
static npar_error &noMemory() {
  static npar_error error{NPAR_RUN_FAILED, "not enough memory",
                          R"({"schema": 1, "code": 4, "message": "not enough memory", "diagnostics": []})"};
  return error;
}
[[maybe_unused]] static const npar_error &madeAtStart = noMemory();

/// Messages of this library speak of members.
[[maybe_unused]] static const bool namedAtStart = engine::optionsAreMembers = true;

/// A message without what the driver needs on a terminal: `npar: ` before each further line, and a newline at the end.
static std::string plain(std::string text) {
  for (size_t at = 0; (at = text.find("\nnpar: ", at)) != std::string::npos;)
    text.erase(++at, 6);
  return withoutEnd(std::move(text));
}

npar_code giveNoMemory(npar_error **error) noexcept {
  if (error)
    *error = &noMemory();
  return NPAR_RUN_FAILED;
}

npar_code give(npar_error **error, const engine::Status &status, const std::string &diagnostics) noexcept {
  auto code = static_cast<npar_code>(status.code());
  if (!error)
    return code;
  try {
    auto made = std::make_unique<npar_error>();
    made->code = code;
    made->text = plain(status.message());
    // Text, because the destructor of a JSON tree allocates, and this error may be about memory.
    made->json = "{\"schema\": " + std::to_string(json::schemaNumber) + ", \"code\": " + std::to_string(code) +
                 ", \"message\": " + engine::jsonString(made->text) + ", \"diagnostics\": " + (diagnostics.empty() ? "[]" : diagnostics) +
                 "}";
    *error = made.release();
    return code;
  } catch (...) {
    return giveNoMemory(error);
  }
}

} // namespace npar::api

extern "C" {

uint32_t npar_abi(void) { return NPAR_ABI; }

npar_str npar_version(void) { return {NPAR_VERSION, sizeof NPAR_VERSION - 1}; }

npar_code npar_check_abi(uint32_t abi, npar_error **error) {
  return api::fenced(error, [&]() -> engine::Status {
    auto words = [](uint32_t version) { return std::to_string(version >> 16) + "." + std::to_string(version & 0xFFFF); };
    if (abi >> 16 == NPAR_ABI >> 16 && (abi & 0xFFFF) <= (NPAR_ABI & 0xFFFF))
      return {};
    return engine::Status::usage("the program was compiled with npar.h of interface version " + words(abi) +
                                 ", and the libnpar that was "
                                 "loaded (npar " NPAR_VERSION ") has version " +
                                 words(NPAR_ABI) + ": compile it again, or load a newer libnpar");
  });
}

npar_str npar_error_text(const npar_error *error) { return error ? api::strOf(error->text) : npar_str{"", 0}; }
npar_str npar_error_json(const npar_error *error) { return error ? api::strOf(error->json) : npar_str{"", 0}; }
npar_code npar_error_code(const npar_error *error) { return error ? error->code : NPAR_OK; }

void npar_error_free(npar_error *error) {
  if (error != &api::noMemory())
    delete error;
}

npar_str npar_buffer_data(const npar_buffer *buffer) { return buffer ? api::strOf(buffer->text) : npar_str{"", 0}; }
int32_t npar_buffer_ok(const npar_buffer *buffer) { return !buffer || buffer->ok; }
void npar_buffer_free(npar_buffer *buffer) { delete buffer; }

npar_code npar_stop_create(npar_stop **stop, npar_error **error) {
  return api::fenced(error, [&]() -> engine::Status {
    TRY_STATUS(api::needs(stop, "npar_stop_create", "stop"));
    *stop = new npar_stop;
    return {};
  });
}

void npar_stop_request(npar_stop *stop) {
  if (stop)
    stop->requested = true;
}

void npar_stop_free(npar_stop *stop) { delete stop; }
}
