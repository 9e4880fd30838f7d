// The codes of errors: each names the page that explains it (dsl/errors/*.md, `npar explain-code`).
#pragma once

#include <cstdint>

// Rules of compiler/RULES.md keep their labels. The other letters: L text and names, A axes and tensors, T training and data, M meshes,
// plans and machines, F files of other programs, I npar itself.
// clang-format off
#define NPAR_ERROR_CODES(CODE) \
  CODE(L1) CODE(L2) CODE(L3) CODE(L4) CODE(L5) CODE(L6) CODE(L7) CODE(L8) CODE(L9) CODE(L10) \
  CODE(L11) CODE(L12) CODE(L13) CODE(L14) CODE(L15) CODE(L16) CODE(L17) CODE(L18) CODE(L19) CODE(L20) \
  CODE(A1) CODE(A2) CODE(A3) CODE(A4) CODE(A5) CODE(A6) CODE(A7) CODE(A8) CODE(A9) \
  CODE(A10) CODE(A11) CODE(A12) CODE(A13) CODE(A14) CODE(A15) CODE(A16) CODE(A17) CODE(A18) \
  CODE(T1) CODE(T2) CODE(T3) CODE(T4) CODE(T5) CODE(T6) CODE(T7) CODE(T8) CODE(T9) CODE(T10) CODE(T11) \
  CODE(M1) CODE(M2) CODE(M3) CODE(M4) CODE(M5) CODE(M6) CODE(M7) CODE(M8) CODE(M9) CODE(M10) CODE(M11) CODE(M12) CODE(M13) \
  CODE(P1) CODE(P2) CODE(P3) CODE(P5) CODE(P7) CODE(P8) CODE(P9) CODE(P10) \
  CODE(N11) CODE(N12) \
  CODE(F1) CODE(F2) CODE(F3) CODE(F4) \
  CODE(I1)
// clang-format on

namespace npar::dsl {

enum class Code : uint8_t {
#define NPAR_CODE(code) code,
  NPAR_ERROR_CODES(NPAR_CODE)
#undef NPAR_CODE
};

/// "P7".
inline const char *nameOf(Code code) {
  switch (code) {
#define NPAR_CODE(code)                                                                                                                    \
  case Code::code:                                                                                                                         \
    return #code;
    NPAR_ERROR_CODES(NPAR_CODE)
#undef NPAR_CODE
  }
  return "";
}

} // namespace npar::dsl
