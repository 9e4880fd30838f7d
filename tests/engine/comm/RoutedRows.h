// An all_to_all of routed rows: pieces of which only the first rows exist, for tests of communicators.
#pragma once

#include "tests/engine/comm/ConformanceGroup.h"

#include <random>

namespace npar::testing {

/// A global tensor [a, b, c, d, e] whose dimension d has `pieces` pieces of `places` rows for each of n members; b and d are cut into n, in
/// the input one of them, in the output the other.
struct RoutedRows {
  static constexpr size_t a = 2, c = 2, e = 3, blockB = 2, places = 5;
  static constexpr int32_t missing = -7; ///< what the input has beyond the existing rows

  /// `groups` entries of all pieces: with one piece per member the last ones may have fewer than the others. Each piece has random rows, in
  /// some none or all of them.
  RoutedRows(const World &world, size_t n, bool concatFirst, size_t pieces, size_t groups, uint32_t seed)
      : world(world), n(n), pieces(pieces), groups(groups), entries((groups + n * pieces - 1) / (n * pieces)), concatFirst(concatFirst),
        group(world, n, a * blockB * c * n * pieces * places * e, a * blockB * c * n * pieces * places * e) {
    std::mt19937 random(seed);
    rows.resize(a * n * blockB * c * n * pieces);
    ends.resize(a * n * blockB * c * groups);
    for (size_t sample = 0; sample < a * n * blockB * c; ++sample)
      for (size_t piece = 0; piece < n * pieces; ++piece) {
        size_t first = piece * entries, last = std::min(first + entries, groups);
        int32_t &all = rows[sample * n * pieces + piece] = first < last ? std::min<int32_t>(static_cast<int32_t>(random() % 8), places) : 0;
        for (size_t entry = first; entry < last; ++entry) // ascending, and the last one has all of them
          ends[sample * groups + entry] = entry + 1 == last ? all : static_cast<int32_t>(random() % static_cast<uint32_t>(all + 1));
      }
    Operation &sizes = group.prototype;
    sizes.kind = CollectiveKind::AllToAll, sizes.concatFirst = concatFirst, sizes.outer = a, sizes.middle = c, sizes.inner = e;
    sizes.split = concatFirst ? pieces * places : blockB, sizes.concat = concatFirst ? blockB : pieces * places;
    sizes.places = places, sizes.entries = entries, sizes.groups = groups;
    for (size_t r = 0; r < n; ++r) {
      group.input[r] = piece(r, concatFirst, missing);
      std::fill(group.output[r].begin(), group.output[r].end(), 99);
      inputEnds.push_back(endsOf(r, concatFirst)), outputEnds.push_back(endsOf(r, !concatFirst));
      for (auto *given : {&inputEnds, &outputEnds})
        memory.push_back(*group.backendOf(r).allocate((*given)[r].size() * sizeof(int32_t)));
    }
  }
  RoutedRows(const RoutedRows &) = delete;
  ~RoutedRows() {
    for (size_t r = 0; r < n; ++r)
      for (auto *given : {&inputEnds, &outputEnds})
        group.backendOf(r).release(memory[2 * r + (given == &outputEnds)], (*given)[r].size() * sizeof(int32_t));
  }

  /// Rank r's part of the global tensor, whose values are their places; `cutB`: its part of b, else of d.
  std::vector<int32_t> piece(size_t r, bool cutB, int32_t other) const {
    std::vector<int32_t> values;
    size_t wholeB = n * blockB, blockD = pieces * places, wholeD = n * blockD;
    for (size_t i = 0; i < a; ++i)
      for (size_t j = cutB ? r * blockB : 0; j < (cutB ? (r + 1) * blockB : wholeB); ++j)
        for (size_t k = 0; k < c; ++k)
          for (size_t l = cutB ? 0 : r * blockD; l < (cutB ? wholeD : (r + 1) * blockD); ++l)
            for (size_t m = 0; m < e; ++m) {
              size_t sample = (i * wholeB + j) * c + k;
              bool exists = static_cast<int32_t>(l % places) < rows[sample * n * pieces + l / places];
              values.push_back(exists ? static_cast<int32_t>((sample * wholeD + l) * e + m) : other);
            }
    return values;
  }

  /// Rank r's ends for its part: of all entries, or of its own pieces. The latter have padding, which is not read.
  std::vector<int32_t> endsOf(size_t r, bool cutB) const {
    std::vector<int32_t> values;
    size_t wholeB = n * blockB;
    for (size_t i = 0; i < a; ++i)
      for (size_t j = cutB ? r * blockB : 0; j < (cutB ? (r + 1) * blockB : wholeB); ++j)
        for (size_t k = 0; k < c; ++k)
          for (size_t entry = cutB ? 0 : r * pieces * entries; entry < (cutB ? groups : (r + 1) * pieces * entries); ++entry)
            values.push_back(entry < groups ? ends[((i * wholeB + j) * c + k) * groups + entry] : -1);
    return values;
  }

  Operation operation(size_t r) {
    Backend &backend = group.backendOf(r);
    Operation operation = group.operation(r);
    operation.inputEnds = memory[2 * r], operation.outputEnds = memory[2 * r + 1];
    backend.copyIn(operation.inputEnds, inputEnds[r].data(), inputEnds[r].size() * sizeof(int32_t));
    backend.copyIn(operation.outputEnds, outputEnds[r].data(), outputEnds[r].size() * sizeof(int32_t));
    EXPECT_TRUE(waitUntilDone(backend).ok());
    return operation;
  }

  void run() {
    for (size_t r = 0; r < n; ++r)
      world.post(operation(r));
    for (Answer &answer : group.answers) {
      ASSERT_TRUE(answer.done());
      ASSERT_TRUE(answer.status.ok()) << answer.status.message();
    }
    group.fetch();
  }

  /// Elements that go from one member to another one.
  uint64_t elements(size_t from, size_t to) const {
    uint64_t sum = 0;
    size_t holder = concatFirst ? from : to, other = concatFirst ? to : from; // of samples, of pieces
    for (size_t i = 0; i < a; ++i)
      for (size_t j = holder * blockB; j < (holder + 1) * blockB; ++j)
        for (size_t k = 0; k < c; ++k)
          for (size_t p = other * pieces; p < (other + 1) * pieces; ++p)
            sum += static_cast<uint64_t>(rows[((i * n * blockB + j) * c + k) * n * pieces + p]) * e;
    return sum;
  }

  const World &world;
  const size_t n, pieces, groups, entries;
  const bool concatFirst;
  Group<int32_t> group;
  std::vector<int32_t> rows;                               ///< by sample and piece
  std::vector<int32_t> ends;                               ///< by sample and entry
  std::vector<std::vector<int32_t>> inputEnds, outputEnds; ///< by member
  std::vector<DeviceAddress> memory;                       ///< of the ends: each member's input and output
};

} // namespace npar::testing
