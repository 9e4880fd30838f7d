// Each kind is one or several rules.
#include "engine/text/CutReader.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/NormalizerReader.h"
#include "engine/text/Quoted.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

namespace npar::engine {

const char *const gpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

Behavior readBehavior(Fields &fields, const char *otherwise) {
  constexpr std::pair<const char *, Behavior> names[] = {{"Removed", Behavior::Removed},
                                                         {"Isolated", Behavior::Isolated},
                                                         {"MergedWithPrevious", Behavior::MergedWithPrevious},
                                                         {"MergedWithNext", Behavior::MergedWithNext},
                                                         {"Contiguous", Behavior::Contiguous}};
  std::string text = fields.text("behavior");
  for (auto [name, behavior] : names)
    if ((text.empty() ? otherwise : text) == name)
      return behavior;
  fields.refuse("has the behavior " + inQuotes(text) +
                ": npar knows 'Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext' and 'Contiguous'");
  return Behavior::Isolated;
}

Status addSplit(Fields &fields, std::vector<CutRule> &rules) {
  Behavior behavior = readBehavior(fields, "");
  bool inverted = fields.flag("invert");
  const Json &where = fields.object("pattern");
  TRY_STATUS(fields.mistake());
  TRY(FilePattern pattern, readFilePattern(where, "pre-tokenizer 'Split'"));
  if (pattern.regex.empty()) {
    rules.push_back(splitRule(pattern.text, behavior));
    rules.back().inverted = inverted;
    return {};
  }
  TRY(auto compiled, Pattern::compile(pattern.regex));
  rules.push_back(splitRule(compiled, behavior, inverted));
  return {};
}

Status addByteLevel(Fields &fields, bool last, Cuts &cuts) {
  fields.ignore({"trim_offsets"}); // positions only
  if (fields.flag("add_prefix_space", true))
    cuts.rules.push_back(prefixSpaceRule());
  if (fields.flag("use_regex", true)) {
    TRY(auto pattern, Pattern::compile(gpt2Pattern));
    cuts.rules.push_back(splitRule(pattern, Behavior::Isolated));
  }
  cuts.bytes = last;
  if (!last)
    cuts.rules.push_back(byteCharactersRule());
  return {};
}

void addMetaspace(Fields &fields, std::vector<CutRule> &rules) {
  std::string mark = fields.text("replacement"), scheme = fields.text("prepend_scheme");
  fields.ignore({"str_rep"});
  // Older files have this flag instead of a scheme.
  bool prefix = fields.flag("add_prefix_space", scheme != "never");
  if (scheme.empty())
    scheme = prefix ? "always" : "never";
  size_t end = 0;
  if (!characterAt(mark, end) || end < mark.size())
    fields.refuse("has a 'replacement' that is not one character");
  if (!prefix && scheme != "never")
    fields.refuse("has the prepend_scheme " + inQuotes(scheme) + ", and a false 'add_prefix_space'");
  if (scheme != "first" && scheme != "always" && scheme != "never")
    fields.refuse("has the prepend_scheme " + inQuotes(scheme) + ": npar knows 'first', 'always' and 'never'");
  rules.push_back(markRule(mark, scheme == "first"    ? CutRule::Prepend::First
                                 : scheme == "always" ? CutRule::Prepend::Always
                                                      : CutRule::Prepend::Never));
  if (fields.flag("split", true))
    rules.push_back(splitRule(mark, Behavior::MergedWithNext));
}

/// Adds the rules of a kind that sets of characters define. Returns false for other kinds.
bool addSets(const std::string &type, Fields &fields, std::vector<CutRule> &rules) {
  const CharacterSet &spaces = setOf(Property::WhiteSpace), &punctuation = setOf(Property::Punctuation);
  if (type == "Whitespace") {
    rules.push_back(splitRule(spaces, Behavior::Removed));
    rules.push_back(splitRule(setOf(Property::Word), Behavior::Contiguous));
  } else if (type == "WhitespaceSplit") {
    rules.push_back(splitRule(spaces, Behavior::Removed));
  } else if (type == "BertPreTokenizer") {
    rules.push_back(splitRule(spaces, Behavior::Removed));
    rules.push_back(splitRule(punctuation, Behavior::Isolated));
  } else if (type == "Punctuation") {
    rules.push_back(splitRule(punctuation, readBehavior(fields, "Isolated")));
  } else if (type == "Digits") {
    rules.push_back(splitRule(setOf(Property::Numeric), fields.flag("individual_digits") ? Behavior::Isolated : Behavior::Contiguous));
  } else if (type == "CharDelimiterSplit") {
    std::string delimiter = fields.text("delimiter");
    if (delimiter.empty())
      fields.refuse("has no 'delimiter'");
    rules.push_back(splitRule(delimiter, Behavior::Removed));
  } else {
    return false;
  }
  return true;
}

} // namespace

Result<Cuts> readCuts(const Json &component) {
  Cuts cuts;
  std::vector<const Json *> parts = flattened(component, "pretokenizers");
  for (const Json *part : parts) {
    std::string type = typeOf(*part);
    Fields fields(*part, "pre-tokenizer " + inQuotes(type));
    fields.ignore({"type"});
    if (type == "Split") {
      TRY_STATUS(addSplit(fields, cuts.rules));
    } else if (type == "ByteLevel") {
      TRY_STATUS(addByteLevel(fields, part == parts.back(), cuts));
    } else if (type == "Metaspace") {
      addMetaspace(fields, cuts.rules);
    } else if (!addSets(type, fields, cuts.rules)) {
      return unknownComponent("pre-tokenizer", *part,
                              "'Split', 'ByteLevel', 'Metaspace', 'Whitespace', 'WhitespaceSplit', 'BertPreTokenizer', 'Punctuation', "
                              "'Digits', 'CharDelimiterSplit' and 'Sequence'");
    }
    TRY_STATUS(fields.status());
  }
  return cuts;
}

} // namespace npar::engine
