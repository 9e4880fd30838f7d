// The words of the seam's enumerations, one table each, both ways: dialects print and parse them, JSON and messages show them.
#pragma once

#include "engine/program/Enums_generated.h"

#include <optional>
#include <string>
#include <string_view>

namespace npar::program {

/// The one word of a value, which `valueOf` reads back: "bf16", "all_gather". A phase's word is the letter in the names of its tasks: P, C,
/// F, B, W, U. The value must be one of the enumeration's, which `checkStructure` ensures for every program.
const char *wordOf(ElementType type);
const char *wordOf(Phase phase);
const char *wordOf(StepKind kind);
const char *wordOf(CollectiveKind kind);
const char *wordOf(ReduceOp op);
const char *wordOf(VariableKind kind);
const char *wordOf(InitKind kind);
const char *wordOf(InputRole role);
const char *wordOf(ProgramKind kind);
const char *wordOf(DataFormat format);
const char *wordOf(TextFeedKind kind);
const char *wordOf(PictureStepKind kind);
const char *wordOf(Interpolation interpolation);
const char *wordOf(DataOrder order);
const char *wordOf(DataLast last);
const char *wordOf(CheckpointRuleKind kind);
const char *wordOf(CauseKind kind);
const char *wordOf(RateSchedule schedule);
const char *wordOf(LengthUnit unit);
const char *wordOf(MeasureKind kind);
const char *wordOf(ProductOrder order);
const char *wordOf(Grouping grouping);
const char *wordOf(Tier tier);

/// Tells whether initial values of this kind have a number: the deviation, the bound, or the value itself.
bool hasNumber(InitKind kind);

/// The value that a word stands for; none when no value has this word.
template <typename Enum> std::optional<Enum> valueOf(std::string_view word);

/// All words in the order of the schema, for messages: "sum, max, rounded_sum".
template <typename Enum> std::string wordsOf();

/// True if a file of this format is a stream of tokens.
inline bool isStream(DataFormat format) { return format == DataFormat::Bytes || format == DataFormat::U16 || format == DataFormat::I32; }

/// True if files of this format have rows with texts.
inline bool hasTexts(DataFormat format) {
  return format == DataFormat::Csv || format == DataFormat::Tsv || format == DataFormat::JsonLines || format == DataFormat::Lines;
}

/// A phase in words for users: "weight gradient".
const char *describe(Phase phase);

} // namespace npar::program
