// Matching in parts is exact: PCRE2's hard partial match reports whenever it reached the end of the text.
#include "engine/text/Pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace npar::engine {
namespace {

constexpr size_t longestPattern = 16384;
constexpr uint32_t mostSteps = 10'000'000; // back to another choice, within one match
constexpr uint32_t mostHeap = 256 * 1024;  // KiB, of the interpreter

pcre2_code *codeOf(void *code) { return static_cast<pcre2_code *>(code); }

/// Limits that every match keeps; PCRE2 makes its just-in-time stack from the machine's.
pcre2_match_context *limits() {
  static pcre2_match_context *const context = [] {
    pcre2_match_context *made = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(made, mostSteps);
    pcre2_set_heap_limit(made, mostHeap);
    return made;
  }();
  return context;
}

std::string messageOf(int error) {
  unsigned char text[256];
  return pcre2_get_error_message(error, text, sizeof(text)) < 0 ? "error " + std::to_string(error) : reinterpret_cast<char *>(text);
}

} // namespace

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view given) {
  if (given.size() > longestPattern)
    return Status::badInput("a pattern has " + std::to_string(given.size()) + " bytes, more than " + std::to_string(longestPattern));
  Result<std::string> text = translatePattern(given);
  if (!text.ok())
    return text.status();
  int error;
  size_t position;
  pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text->data()), text->size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &position, nullptr);
  if (!code)
    return Status::badInput("the pattern '" + std::string(given) + "' is wrong: " + messageOf(error));
  std::shared_ptr<const Pattern> pattern(new Pattern(code));
  uint32_t empty = 1;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &empty);
  if (empty)
    return Status::badInput("the pattern '" + std::string(given) + "' can match an empty text");
  // Just-in-time code needs memory that is both writable and executable; without it, the interpreter gives the same matches.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  return pattern;
}

Pattern::~Pattern() { pcre2_code_free(codeOf(code)); }

void PatternMatcher::Free::operator()(void *data) const { pcre2_match_data_free(static_cast<pcre2_match_data *>(data)); }

PatternMatcher::PatternMatcher(std::shared_ptr<const Pattern> given)
    : pattern(std::move(given)), data(pcre2_match_data_create_from_pattern(codeOf(pattern->code), nullptr)) {}

PatternMatcher::Found PatternMatcher::next(std::string_view text, size_t from, bool goesOn, Span &span) {
  auto *matched = static_cast<pcre2_match_data *>(data.get());
  auto match = [&](uint32_t options) {
    return pcre2_match(codeOf(pattern->code), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK | (goesOn ? PCRE2_PARTIAL_HARD : 0), matched, limits());
  };
  int result = match(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = match(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH)
    return Found::None;
  if (result < 0 && result != PCRE2_ERROR_PARTIAL)
    return Found::Failed;
  const size_t *ends = pcre2_get_ovector_pointer(matched);
  span = {ends[0], ends[1]};
  return result == PCRE2_ERROR_PARTIAL ? Found::Undecided : Found::Match;
}

} // namespace npar::engine
