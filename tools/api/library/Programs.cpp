// Compiled programs: made, opened, saved.
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/CompilerLibrary.h"
#include "tools/api/library/Fence.h"
#include "tools/api/library/Handles.h"

#include "engine/files/AtomicFile.h"

using namespace npar;
using npar::api::fenced;
using npar::engine::Status;

namespace npar::api {

engine::Result<npar_program *> compiled(const std::shared_ptr<KeptRequest> &kept) {
  TRY(const CompilerTable *compiler, compilerLibrary());
  CompilerAnswer answer;
  compiler->compile(kept->recording(), answer.receiver());
  TRY_STATUS(kept->imported());
  TRY_STATUS(answer.status);
  auto made = std::make_unique<npar_program>();
  TRY(made->program, answer.program("program"));
  if (!made->program)
    return Status::internal("internal error: the compiler gave no program");
  made->warnings = answer.parts["warnings"];
  made->origin = answer.parts["origin"];
  made->request = kept;
  return made.release();
}

} // namespace npar::api

extern "C" {

npar_code npar_compile(const npar_request *request, npar_program **program, npar_error **error) {
  return fenced(error, [&]() -> Status {
    TRY(npar_request given, api::requestOf(request, "npar_compile"));
    TRY_STATUS(api::needs(program, "npar_compile", "program"));
    TRY(*program, api::compiled(std::make_shared<api::KeptRequest>(given)));
    return {};
  });
}

npar_code npar_program_open(npar_str path, npar_program **program, npar_error **error) {
  return fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(program, "npar_program_open", "program"));
    TRY_STATUS(api::Arguments("npar_program_open").filled(path, "path").status());
    auto made = std::make_unique<npar_program>();
    TRY(made->program, program::LoadedProgram::fromFile(api::textOf(path)));
    *program = made.release();
    return {};
  });
}

npar_code npar_program_from_bytes(const void *bytes, size_t size, npar_program **program, npar_error **error) {
  return fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(bytes, "npar_program_from_bytes", "bytes"));
    TRY_STATUS(api::needs(program, "npar_program_from_bytes", "program"));
    const auto *begin = static_cast<const uint8_t *>(bytes);
    auto made = std::make_unique<npar_program>();
    TRY(made->program, program::LoadedProgram::fromBytes(std::vector<uint8_t>(begin, begin + size), "the program in memory"));
    *program = made.release();
    return {};
  });
}

npar_str npar_program_bytes(const npar_program *program) {
  if (!program)
    return {"", 0};
  const std::vector<uint8_t> &bytes = program->program->data();
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

npar_code npar_program_save(const npar_program *program, npar_str path, npar_error **error) {
  return fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(program, "npar_program_save", "program"));
    TRY_STATUS(api::Arguments("npar_program_save").filled(path, "path").status());
    const std::vector<uint8_t> &bytes = program->program->data();
    return files::writeFileAtomically(api::textOf(path), bytes.data(), bytes.size());
  });
}

npar_str npar_program_warnings(const npar_program *program) { return program ? api::strOf(program->warnings) : npar_str{"[]", 2}; }

npar_program *npar_program_retain(npar_program *program) {
  if (program)
    ++program->references;
  return program;
}

void npar_program_free(npar_program *program) {
  if (program && --program->references == 0)
    delete program;
}
}
