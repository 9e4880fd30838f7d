// Multiplies the sizes of a product's factors.
#include "dsl/AxisSize.h"

namespace npar::dsl {

int64_t axisSize(const Model &model, const std::string &name) {
  for (const Axis &axis : model.axes)
    if (axis.name == name)
      return axis.size;
  for (const ProductAxis &product : model.products)
    if (product.name == name) {
      int64_t size = 1;
      for (const std::string &factor : product.factors)
        size *= axisSize(model, factor);
      return size;
    }
  return 0;
}

} // namespace npar::dsl
