// Reads the call that makes the Trainer's arguments in a Python file or a notebook. Nothing is executed: values that are computed are
// unknown.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include "tools/lib/foreign/Beginning.h"
#include "tools/lib/foreign/python/Literals.h"
#include "tools/lib/foreign/python/Tokens.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

constexpr const char *argumentClass = "TrainingArguments"; ///< the ending of Seq2SeqTrainingArguments and others too

bool makesArguments(const python::Call &call) {
  const std::string ending = argumentClass;
  return call.name.size() >= ending.size() && call.name.compare(call.name.size() - ending.size(), ending.size(), ending) == 0;
}

} // namespace

bool isPythonOfTrainer(const std::string &text) {
  const std::string first = text.substr(0, text.find('\n'));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || (startsWith(text, "#!") && first.find("python") == std::string::npos))
    return false;
  const bool isNotebook = text[begin] == '{' && text.find("\"nbformat\"") != std::string::npos;
  return text.find(std::string(argumentClass) + "(") != std::string::npos &&
         (isNotebook || (text[begin] != '{' && text.find("import ") != std::string::npos));
}

std::vector<ForeignEntry> readPythonOfTrainer(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  const std::optional<std::vector<python::Line>> cells = python::linesOfNotebook(text, file);
  const python::Literals literals = python::literalsOf(cells ? *cells : python::linesOf(text, file));
  std::vector<const python::Call *> calls;
  for (const python::Call &call : literals.calls)
    if (makesArguments(call))
      calls.push_back(&call);
  EntryList entries(file, diagnostics);
  if (literals.isCut) {
    entries.refuse({file, 1, 1, 1}, "this file has more dictionaries than are read");
  } else if (calls.empty()) {
    entries.refuse({file, 1, 1, 1}, std::string("this file has no call ") + argumentClass + "(...) with names of its arguments");
  } else if (calls.size() > 1) {
    diagnostics
        .error(dsl::Code::F3, calls[0]->at, fmt::format("this file makes the Trainer's arguments {} times: line {} and line {}", calls.size(),
                                         calls[0]->at.line, calls[1]->at.line))
        .note(calls[1]->at, "the second time")
        .help(calls[0]->at, "give --from a copy with one of them");
    return {};
  } else {
    python::addEntries("", *calls[0]->arguments, calls[0]->at, entries);
  }
  return entries.take();
}

} // namespace npar::foreign
