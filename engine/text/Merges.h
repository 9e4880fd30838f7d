// Byte-pair encoding of one word: which pairs of tokens become one, and in what order.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// The merges of a vocabulary, by pair. Built once, then read by any number of threads.
class MergeTable {
public:
  struct Merge {
    int32_t rank = -1; ///< the lowest goes first; -1: there is none
    int32_t token = -1;
  };
  explicit MergeTable(size_t count);
  /// False where the pair has a merge already.
  bool add(int32_t left, int32_t right, Merge merge);
  Merge find(int32_t left, int32_t right) const;

private:
  struct Slot {
    uint64_t pair = 0;
    Merge merge;
  };
  size_t slotOf(uint64_t pair) const;
  std::vector<Slot> slots; ///< open addressing, at most half full
};

/// Merges the tokens of a word, of any length, in n log n time: always the pair with the lowest rank, of equals the leftmost, as Python's
/// `tokenizers` does. Keeps its memory from word to word.
class WordMerger {
public:
  explicit WordMerger(const MergeTable &table) : table(table) {}
  /// `tokens` holds the word's smallest tokens and then its merged ones.
  void merge(std::vector<int32_t> &tokens);

private:
  struct Symbol {
    int32_t token, before, after; ///< neighbours by index, -1 at the ends; a token of -1 went into its left neighbour
  };
  struct Candidate {
    int32_t rank, position, token, left, right;
  };
  void propose(int32_t position);
  void join(const Candidate &candidate);
  const MergeTable &table;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

} // namespace npar::engine
