// Unicode's normal forms NFC, NFD, NFKC and NFKD (Unicode annex 15), with the tables of Unicode.h.
#pragma once

#include "engine/text/Normalizer.h"

namespace npar::engine {

struct NormalForm {
  bool compatible = false; ///< NFKC and NFKD
  bool composes = false;   ///< NFC and NFKC
};

std::shared_ptr<const Normalizer> normalFormNormalizer(NormalForm form);

} // namespace npar::engine
