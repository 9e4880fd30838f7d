# Writes the texts of the standard library into a source file: cmake -DSOURCE=<stdlib> -DTARGET=<EmbeddedLibrary.cpp> -P EmbedLibrary.cmake
file(GLOB_RECURSE texts RELATIVE "${SOURCE}" "${SOURCE}/*.npar")
list(SORT texts)
file(WRITE "${TARGET}.new" "// Generated from stdlib.\n#include \"dsl/EmbeddedLibrary.h\"\n\nnamespace npar::dsl {\n\n"
  "std::vector<std::pair<std::string, std::string>> embeddedTexts() {\n  return {\n")
foreach(path ${texts})
  file(READ "${SOURCE}/${path}" text)
  file(APPEND "${TARGET}.new" "      {\"${path}\", R\"npar(${text})npar\"},\n")
endforeach()
file(APPEND "${TARGET}.new" "  };\n}\n\n} // namespace npar::dsl\n")
file(RENAME "${TARGET}.new" "${TARGET}")
