// Scores of attention in blocks in memory as PTX, for kernels of the program to change: products of queries and keys, and for gradients
// those of their gradients and values. A block has some rows of a block of scores, a thread a column.
#include "engine/backends/cuda/ptx/AttentionWriter.h"

namespace npar::engine::cuda {

namespace {

class ScoresWriter final : public AttentionWriter {
public:
  using AttentionWriter::AttentionWriter;
  std::string text() override;
};

std::string ScoresWriter::text() {
  using Block = ScoreBlock;
  constexpr int q = 0, k = 1, v = 2, doutOfGradient = 4;
  bool ofKeys = kind.pass == AttentionPass::KeyScores;
  Operand head = ownHead(), none = kernel.get(Kind::Bits64, "mov.b64", "0"), number = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y");
  Matrix queries = matrix(q, kind.type, head), keys = matrix(k, kind.type, none);
  Operand entry = entryOf(offsetof(ScoreSlab, blocks), number, sizeof(Block));
  blockMemory = blockAt(unit, number);
  Operand first = integer("mul.lo.s32", kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), std::to_string(tile));
  Operand left = integer("sub.s32", field(entry, offsetof(Block, rows)), first);
  Rows rows{integer("add.s32", field(entry, offsetof(Block, rowAt)), first), integer("min.s32", left, std::to_string(tile)), none};
  Operand rowTile = sharedRows(tile * kind.width), valueTile = ofKeys ? sharedRows(tile * kind.values) : "";
  kernel.when(less("0", left), [&] {
    fetch(ofKeys ? keys : queries, rows, kind.width, rowTile);
    if (ofKeys)
      fetch(matrix(v, kind.type, none), rows, kind.values, valueTile);
    kernel.meet();
    kernel.when(less(thread, field(entry, offsetof(Block, columns))), [&] {
      Operand column = integer("add.s32", field(entry, offsetof(Block, columnAt)), thread), factor = scale();
      auto put = [&](size_t table, const std::vector<Operand> &values) {
        for (int r = 0; r < tile; ++r)
          storeFloat(inBlock(table, integer("add.s32", first, std::to_string(r)), thread), values[size_t(r)]);
      };
      std::vector<Operand> scores = across(ofKeys ? queries : keys, column, rowTile, kind.width);
      for (Operand &score : scores)
        score = sums.multiply(kernel, score, factor);
      put(offsetof(ScoreSlab, scores), scores);
      if (ofKeys)
        put(offsetof(ScoreSlab, gradients), across(matrix(doutOfGradient, kind.type, head), column, valueTile, kind.values));
    });
  });
  return kernel.text();
}

} // namespace

std::string scoresText(const AttentionKind &kind) { return ScoresWriter(kind).text(); }

} // namespace npar::engine::cuda
