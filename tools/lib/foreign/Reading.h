// Takes settings out of a file by name, and knows afterwards which of them nobody asked for.
#pragma once

#include "tools/lib/foreign/ForeignRun.h"

#include <cstdint>
#include <map>
#include <set>

namespace npar::foreign {

class Reading {
public:
  Reading(const ForeignFile &file, ForeignRun &run, dsl::Diagnostics &diagnostics);

  /// The last entry of a name, which counts as understood; null when there is none. Names that a later file format calls otherwise are
  /// given together.
  const ForeignEntry *find(const std::string &key);
  const ForeignEntry *findAny(std::initializer_list<const char *> keys);
  static constexpr int64_t mostCount = int64_t{1} << 20; ///< three of these multiplied are a number still
  static constexpr int64_t mostSize = int64_t{1} << 40;  ///< of what is multiplied with one count: tokens, bytes, sequences
  /// A whole number from `least` to `most`; what is none is an error at its place, and `otherwise`.
  int64_t whole(const ForeignEntry *entry, int64_t otherwise, int64_t least = 1, int64_t most = mostCount);
  /// Finite, in decimal digits. Larger numbers than `most`, of either sign, are errors too.
  double number(const ForeignEntry *entry, double otherwise, double most = 1e300);
  bool isTrue(const ForeignEntry *entry) const { return entry && entry->value != "false" && entry->value != "0"; }
  std::string word(const ForeignEntry *entry, const std::string &otherwise) const { return entry ? entry->value : otherwise; }

  /// The entry, which was found, is one that npar has no words for.
  void leave(const ForeignEntry *entry, const std::string &why);
  /// Each entry of these names whose value is none of nothing ("false", "0", "none", "auto" and what is given) is left.
  void leaveAll(const std::vector<std::pair<const char *, const char *>> &reasons);
  /// Entries of these names say nothing where another is not there or off, which stands after them.
  void skipUnless(const std::vector<std::pair<const char *, const char *>> &switches);
  /// This value of the name says nothing.
  void skip(const std::string &key, const std::string &value);
  /// Remembers where a size stands, for errors about the whole.
  void place(const std::string &name, const ForeignEntry *entry);
  void error(const ForeignEntry &entry, const std::string &message);
  /// Patterns of names that say nothing of time or memory; entries that nobody asked for and that match none are left as unknown. In a list
  /// of all arguments those that are off, or 0, are no settings.
  void finish(const std::vector<const char *> &immaterial);

  /// As the file writes it: `--tensor-model-parallel-size 8`, `training.steps = 10`.
  std::string shown(const ForeignEntry &entry) const;
  const ForeignFile &file;
  ForeignRun &run;
  dsl::Diagnostics &diagnostics;

private:
  std::map<std::string, const ForeignEntry *> last;
  std::vector<std::pair<const ForeignEntry *, std::string>> overruled; ///< by another entry of the same name; why
  std::set<std::string> seen;
};

/// Precision and stored types by the words of PyTorch: "bf16", "bfloat16", "torch.float32", "fp16"; empty: none of them.
std::string elementType(const std::string &word);

void readMegatron(Reading &in, const ForeignHints &hints);
/// Of "llama3", with 128,256 tokens.
struct TorchtitanFlavor {
  const char *name;
  int64_t width, depth, heads, kvHeads, mlp;
};
const std::vector<TorchtitanFlavor> &torchtitanFlavors();
void readTorchtitan(Reading &in, const ForeignHints &hints);
/// The blocks of each part of the pipeline: where they are spread, what comes before them and after them counts as so many more.
std::vector<int64_t> torchtitanStages(int64_t layers, int64_t parts, int64_t before, int64_t after);
void readDeepSpeed(Reading &in, const std::string &prefix);
void readAccelerate(Reading &in);

} // namespace npar::foreign
