// Arrays of the host are borrowed, and parameters are read in place, by pieces and as copies.
#include "check.hpp"

int main() {
  npar::Trainer one = trainer(good(npar::compile(request("none"))));
  step(one);
  npar::ArrayView<float> view = good(one.view<float>("up.weight"));
  npar::Values<double> copy = good(one.read<double>("up.weight"));
  CHECK(view.size() == 256 && copy.elements.size() == 256 && view.shape() == copy.shape);
  for (int64_t i = 0; i < copy.shape[0]; ++i)
    for (int64_t j = 0; j < copy.shape[1]; ++j)
      CHECK(view(i, j) == copy.elements[static_cast<size_t>(i * copy.shape[1] + j)]);
  fails(one.view<double>("up.weight"), npar::Code::Usage, "npar_dtype");
  fails(one.view<float>("nothing"), npar::Code::BadInput, "nothing");
  float before = view(0, 0);
  step(one);
  CHECK(view(0, 0) != before); // live

  std::vector<float> ones(256, 1);
  good(one.write("up.weight", {ones, copy.shape}));
  CHECK(view(3, 3) == 1);
  good(one.write("up.weight", {ones.data(), copy.shape, {0, 0}})); // any strides
  std::vector<float> into(256);
  good(one.read("up.weight", into.data(), copy.shape));
  CHECK(into[255] == 1);
  fails(one.write("up.weight", {ones, {2, 128}}), npar::Code::BadInput, "up.weight");
  fails(one.write("up.weight", {ones, {512, 512}}), npar::Code::Usage, "the shape has 262144 elements, and the vector 256");

  npar::Trainer split = trainer(good(npar::compile(request("two_by_two"))));
  fails(split.view<float>("up.weight"), npar::Code::BadInput, "up.weight");
  good(split.write("up.weight", {ones, copy.shape}));
  size_t owned = 0;
  for (const npar::Piece &piece : good(split.pieces("up.weight"))) {
    npar::ArrayView<float> part = good(piece.view.as<float>());
    CHECK(!piece.flat && piece.start.size() == 2 && part(0, 0) == 1);
    owned += piece.owned ? part.size() : 0;
  }
  CHECK(owned == 256);

  void *managed = good(split.toDlPack("up.weight", npar::Export::Copy));
  npar::Array tensor = good(npar::Array::fromDlPack(managed));
  good(one.write("up.weight", tensor));
  npar::detail::DlManaged *head = static_cast<npar::detail::DlManaged *>(managed);
  head->deleter(head);

  std::vector<int64_t> tokens(128), targets(128, 31);
  fails(one.step({{"tokens", {tokens, {16, 8}}}}), npar::Code::BadInput, "targets");
  fails(one.step({{"tokens", tokens}, {"targets", targets}}), npar::Code::BadInput, "dimensions");
  std::vector<uint8_t> bytes(128, 7);
  CHECK(good(one.step({{"tokens", {bytes, {16, 8}}}, {"targets", {targets, {16, 8}}}})).step == 2);
  return finish("arrays");
}
