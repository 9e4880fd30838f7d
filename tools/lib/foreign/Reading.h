// Reads settings of a file by name, and keeps track of the ones that no reader asked for.
#pragma once

#include "tools/lib/foreign/ForeignRun.h"

#include <cstdint>
#include <map>
#include <set>

namespace npar::foreign {

class Reading {
public:
  Reading(const ForeignFile &file, ForeignRun &run, dsl::Diagnostics &diagnostics);

  /// The last entry of a name, which then counts as understood; null if the file has no such entry. `findAny` takes all names of a setting
  /// that was renamed between versions of a format, and returns the entry of the first name that the file has.
  const ForeignEntry *find(const std::string &key);
  /// The same, but it does not count as understood.
  const ForeignEntry *peek(const std::string &key) const;
  const ForeignEntry *findAny(std::initializer_list<const char *> keys);
  static constexpr int64_t mostCount = int64_t{1} << 20; ///< the product of three counts fits 64 bits
  static constexpr int64_t mostSize = int64_t{1} << 40;  ///< limit of sizes that are multiplied by one count: tokens, bytes, sequences
  static constexpr double mostNumber = 3.4e38;           ///< the largest that a train block takes
  /// A whole number from `least` to `most`; `otherwise` without an entry. Any other value is reported and gives `otherwise`.
  int64_t whole(const ForeignEntry *entry, int64_t otherwise, int64_t least = 1, int64_t most = mostCount);
  /// A finite decimal number whose absolute value is at most `most`; `otherwise` without an entry. Any other value is reported.
  double number(const ForeignEntry *entry, double otherwise, double most = 1e300);
  /// The same with where the value comes from; without an entry it is the program's default.
  Setting<int64_t> wholeSetting(const ForeignEntry *entry, int64_t otherwise, int64_t least = 0) {
    return {whole(entry, otherwise, least, mostSize), entry ? Origin::File : Origin::Program};
  }
  Setting<double> numberSetting(const ForeignEntry *entry, double otherwise) {
    return {number(entry, otherwise, mostNumber), entry ? Origin::File : Origin::Program};
  }
  bool isTrue(const ForeignEntry *entry) const { return entry && entry->value != "false" && entry->value != "0"; }
  std::string word(const ForeignEntry *entry, const std::string &otherwise) const { return entry ? entry->value : otherwise; }

  /// Names a difference between the file's model and the nearest one of npar. `entry`: the setting that causes it; null: a default.
  void differs(const ForeignEntry *entry, const std::string &why);
  /// Lists an entry among the settings that npar ignores, with the reason. Does nothing for null.
  void leave(const ForeignEntry *entry, const std::string &why);
  /// Remembers an entry to be written as it is if the run is written for its own program: npar's plan cannot hold it. Null: nothing.
  void keep(const ForeignEntry *entry);
  void keepSection(const std::string &prefix);
  /// Marks all settings whose names begin with `prefix`, and that no reader asked for, as immaterial.
  void skipSection(const std::string &prefix);
  /// The settings whose names begin with `prefix`, without it. They are left to a reader of another program, and not counted here.
  std::vector<ForeignEntry> takeSection(const std::string &prefix);
  /// Remembers the location of a size, for errors about the combination of sizes.
  void place(const std::string &name, const ForeignEntry *entry);
  void error(const ForeignEntry &entry, const std::string &message);
  /// Lists the entries that no reader asked for, by the classes of their names: those that npar lacks, unless they are off, and those that
  /// the program does not have.
  void finish();

  /// The entry in the syntax of the file: `--tensor-model-parallel-size 8`, `training.steps = 10`.
  std::string shown(const ForeignEntry &entry) const;
  const ForeignFile &file;
  ForeignRun &run;
  dsl::Diagnostics &diagnostics;

private:
  bool isOff(const std::string &key) const;
  /// Reports, once, that a value is not known. False if it is.
  bool reportUnknown(const ForeignEntry &entry);
  std::set<const ForeignEntry *> reported;

  std::map<std::string, const ForeignEntry *> last;
  std::vector<std::pair<const ForeignEntry *, std::string>> overruled; ///< entries that another of the same name overrides; why
  std::set<std::string> seen, taken; ///< names that a reader asked for, and that were left to another program
};

/// Converts PyTorch's names of types ("bf16", "bfloat16", "torch.float32", "half") to "bf16", "fp16" or "f32"; empty for any other word.
std::string elementType(const std::string &word);

/// The word with small or capital letters, whatever the locale.
std::string lowerCase(std::string word);
std::string upperCase(std::string word);

} // namespace npar::foreign
