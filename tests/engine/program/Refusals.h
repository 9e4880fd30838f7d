// Runs the verifier on a program that a test has made.
#pragma once

#include "engine/program/Loader.h"
#include "engine/program/Verify.h"

#include <gtest/gtest.h>

namespace npar::program {

/// The checks of a program, after packing it.
inline std::vector<CheckResult> check(const ProgramT &program) {
  auto loaded = LoadedProgram::examineBytes(packProgram(program), "test.npx");
  EXPECT_TRUE(loaded.ok());
  return (*loaded)->checks();
}

/// Expects that `name` fails with a detail that contains `text`.
inline void expectRefused(const ProgramT &program, const std::string &name, const std::string &text) {
  for (const CheckResult &result : check(program))
    if (result.name == name) {
      EXPECT_FALSE(result.ok) << name;
      EXPECT_NE(result.detail.find(text), std::string::npos) << result.detail;
      return;
    }
  FAIL() << "no check " << name;
}

inline Step &step(ProgramT &program, size_t rankClass, size_t fragment, size_t index) {
  return program.classes[rankClass]->fragments[fragment]->steps[index];
}

} // namespace npar::program
