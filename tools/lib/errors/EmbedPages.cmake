# Writes Markdown files into a source file: cmake -DPAGES=<a.md;b.md> -DTARGET=<EmbeddedPages.cpp> -P EmbedPages.cmake
file(WRITE "${TARGET}.new" "// Generated from Markdown files.\n#include \"tools/lib/errors/EmbeddedPages.h\"\n\nnamespace npar::errors {\n\n"
  "std::vector<std::string> embeddedPages() {\n  return {\n")
foreach(path ${PAGES})
  file(READ "${path}" text)
  file(APPEND "${TARGET}.new" "      R\"page(${text})page\",\n")
endforeach()
file(APPEND "${TARGET}.new" "  };\n}\n\n} // namespace npar::errors\n")
file(RENAME "${TARGET}.new" "${TARGET}")
