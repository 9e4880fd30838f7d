// Compares the entries that ranks lack for their windows with a count of single entries.
#include "compiler/dialects/dist/Reach.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using npar::dist::Reach;

namespace {

/// Entries that a rank needs.
std::set<int64_t> neededBy(const Reach &reach, int64_t rank) {
  std::set<int64_t> needed;
  for (int64_t number = rank * reach.step + reach.first, count = 0; count < reach.extent; ++number, ++count)
    if (number % reach.spread == 0 && number >= 0 && number / reach.spread < reach.entries)
      needed.insert(number / reach.spread);
  return needed;
}

TEST(Reach, EdgesAreTheMostThatARankLacks) {
  for (int64_t members = 1; members <= 5; ++members)
    for (int64_t entries = 0; entries <= 9; ++entries)
      for (int64_t step = 1; step <= 4; ++step)
        for (int64_t first = -4; first <= 3; ++first)
          for (int64_t extent = 1; extent <= 7; ++extent)
            for (int64_t spread = 1; spread <= 3; ++spread) {
              Reach reach{members, entries, std::max<int64_t>((entries + members - 1) / members, 1), step, first, extent, spread};
              std::map<int64_t, int64_t> widths;
              for (int64_t receiver = 0; receiver < members; ++receiver) {
                std::set<int64_t> needed = neededBy(reach, receiver);
                std::map<int64_t, int64_t> counts;
                for (int64_t entry : needed) {
                  EXPECT_LE(reach.begin(receiver), entry);
                  EXPECT_LT(entry, reach.end(receiver));
                  if (entry / reach.shard != receiver)
                    ++counts[(receiver - entry / reach.shard + members) % members];
                }
                for (auto [shift, count] : counts)
                  widths[shift] = std::max(widths[shift], count);
              }
              std::map<int64_t, int64_t> sent;
              for (const Reach::Edge &edge : reach.edges())
                sent[edge.shift] = edge.width;
              EXPECT_EQ(sent, widths) << members << " ranks, " << entries << " entries, step " << step << ", first " << first << ", extent "
                                      << extent << ", spread " << spread;
            }
}

TEST(Reach, OfARanksOwnEntriesNeedsNoCopy) {
  EXPECT_TRUE((Reach{2, 8, 4, 4, 0, 4, 1}.isOwn()));
  EXPECT_TRUE((Reach{2, 8, 4, 4, 1, 2, 1}.isOwn()));
  EXPECT_FALSE((Reach{2, 8, 4, 4, 1, 4, 1}.isOwn()));  // the last is the next rank's
  EXPECT_FALSE((Reach{2, 8, 4, 4, -1, 2, 1}.isOwn())); // the first is the fill, or of the rank before
  EXPECT_FALSE((Reach{2, 8, 4, 3, 0, 2, 1}.isOwn()));  // another part on each rank
  EXPECT_FALSE((Reach{2, 8, 4, 4, 0, 4, 2}.isOwn()));  // it has gaps
}

} // namespace
