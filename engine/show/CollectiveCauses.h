// Explains each collective of a program: the rules that ask for it, the two layouts, bytes, how often, what would remove it.
#pragma once

#include "engine/json/Json.h"
#include "engine/show/View.h"

namespace npar::show {

/// Collectives that differ only in the block they belong to.
struct WhyEntry {
  std::string kind, over, phase, from, to;
  program::CauseT cause;
  std::string path;                                       ///< numbers of blocks that differ are `*`
  std::vector<std::pair<std::string, std::string>> rules; ///< of the plan: text and place
  std::vector<std::string> places;                        ///< source lines of the operations
  uint64_t steps = 0;                                     ///< of fragments: how many places of the program, each run `count / steps` times
  uint64_t count = 0;                                     ///< times per training step
  uint64_t bytes = 0;                                     ///< of the rank's input, all times together
  uint64_t sent = 0;  ///< bytes that a rank sends with an algorithm that sends the fewest, all times together
  uint64_t worst = 0; ///< the same if all places for rows of experts are in use
  std::string remedy; ///< what would remove it
};

/// The order of the program is forward, backward, update. The largest is the one of which a rank sends most bytes.
enum class WhyOrder { OfTheProgram, LargestFirst };

std::vector<WhyEntry> whyOf(const View &view, const ClassView &part, WhyOrder order = WhyOrder::OfTheProgram);

/// Bytes that each of `members` ranks sends at least: an all-reduce 2 (n - 1) / n of its input, and so on.
uint64_t sentBytes(program::CollectiveKind kind, uint64_t inputBytes, int64_t members);

/// Each class of ranks begins with its totals.
std::string whyText(const View &view, WhyOrder order = WhyOrder::OfTheProgram);
OrderedJson whyJson(const View &view, const ClassView &part, WhyOrder order = WhyOrder::OfTheProgram);

} // namespace npar::show
