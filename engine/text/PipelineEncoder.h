// Encodes one text with the parts of a Pipeline.
#pragma once

#include "engine/text/Pipeline.h"

namespace npar::engine {

/// Text -> parts between added tokens -> normalized text -> parts between further added tokens -> words -> ids. Every stage keeps the end
/// of its text that later text may change.
class PipelineEncoder : public TextEncoder {
public:
  PipelineEncoder(std::shared_ptr<const Pipeline> tokenizer, bool additions);
  ~PipelineEncoder() override;
  Status push(std::string_view part, std::vector<int32_t> &ids) override;
  Status finish(std::vector<int32_t> &ids) override;

private:
  class Normalizing;
  class Cutting;
  Status advance(bool goesOn, std::vector<int32_t> &ids);

  std::shared_ptr<const Pipeline> tokenizer;
  bool additions, begun = false; ///< a text begins with its additions
  AddedTokenScan scan;
  std::unique_ptr<Cutting> cutting;
  std::unique_ptr<Normalizing> normalizing;
  std::string text;     ///< bytes that were not passed on yet
  uint64_t encoded = 0; ///< bytes of the text before them
};

} // namespace npar::engine
