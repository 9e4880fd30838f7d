// Tests IDX files and folders of pictures as samples.
#include "engine/data/DataSource.h"
#include "engine/data/IdxFile.h"
#include "engine/data/OncePass.h"
#include "engine/data/SampleCount.h"
#include "engine/pictures/Codecs.h"
#include "tests/engine/data/StreamShape.h"

#include <filesystem>
#include <map>
#include <set>
#include <zlib.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::PictureStepKind;

/// Pictures of these sizes and, with `labels`, a class below 3 for each.
BatchShape pictureShape(int64_t rows, std::vector<int64_t> sizes, bool labels = true) {
  InputShape image{"image", program::ElementType::U8, {"batch"}, {rows}, {}, program::InputRole::Other};
  for (size_t i = 0; i < sizes.size(); ++i) {
    image.axes.push_back(sizes.size() - i == 3 ? "channel" : sizes.size() - i == 2 ? "row" : "column");
    image.shape.push_back(sizes[i]);
  }
  BatchShape shape{rows, {image}};
  if (labels)
    shape.inputs.push_back({"label", program::ElementType::I32, {"batch"}, {rows}, {3, "classes", ""}, program::InputRole::Other});
  return shape;
}

std::string idx(const std::vector<uint32_t> &sizes, const std::string &elements) {
  std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift : {24, 16, 8, 0})
      bytes += static_cast<char>(size >> shift);
  return bytes + elements;
}

std::string packed(const std::string &bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(bytes.size() + 100, 0);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data())), stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(result.data()), stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

class PictureData : public DataFolder {
protected:
  DataPlan arrays(const std::string &images, const std::string &labels) {
    DataPlan plan;
    plan.order = Order::Sequential;
    plan.groups = {{{{images, DataFormat::Idx}}, {{0}}}, {{{labels, DataFormat::Idx}}, {{1}}}};
    return plan;
  }
  DataPlan folders() {
    DataPlan plan;
    plan.order = Order::Sequential;
    plan.groups = {{{{folder + "/photos", DataFormat::Images}}, {{0}, {1, "", 0, false, true}}}};
    return plan;
  }
  void picture(const std::string &name, int64_t height, int64_t width, uint8_t value) {
    pictures::Picture made(height, width, 3);
    for (int64_t i = 0; i < height * width; ++i)
      made.bytes[static_cast<size_t>(3 * i)] = value, made.bytes[static_cast<size_t>(3 * i + 2)] = static_cast<uint8_t>(i);
    std::vector<uint8_t> bytes = *pictures::encodePng(made);
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + name).parent_path());
    file(name, std::string(bytes.begin(), bytes.end()));
  }
  std::string refused(const DataPlan &plan, const BatchShape &shape) {
    auto source = DataSource::open(plan, 0, shape);
    return source.ok() ? "" : source.status().message();
  }
  std::string refusedFile(const std::string &bytes) {
    std::string path = file("x.idx", bytes);
    auto opened = IdxFile::open(path);
    std::string message = opened.ok() ? "" : opened.status().message(), begin = "cannot read IDX file '" + path + "': ";
    EXPECT_EQ(message.rfind(begin, 0), 0u) << message;
    return message.substr(std::min(message.size(), begin.size()));
  }
};

TEST_F(PictureData, idxFilesFeedPicturesAndLabels) {
  const std::string images = idx({3, 2, 2}, std::string("\1\2\3\4\5\6\7\x08\x9\xA\xB\xFF", 12)),
                    labels = idx({3}, std::string("\2\0\1", 3));
  for (bool isPacked : {false, true}) {
    DataPlan plan = arrays(file("i", isPacked ? packed(images) : images), file("l", isPacked ? packed(labels) : labels));
    for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{2, 2}, {1, 2, 2}, {3, 2, 2}}) {
      auto source = DataSource::open(plan, 0, pictureShape(2, sizes));
      ASSERT_TRUE(source.ok()) << source.status().message();
      EXPECT_EQ((*source)->samples(), 3);
      EXPECT_EQ((*source)->stream(), "idx");
      Batch batch = (*source)->batch(1); // the last sample and the first of the next epoch
      const auto &values = std::get<std::vector<uint8_t>>(batch[0]);
      size_t each = values.size() / 2;
      for (size_t i = 0; i < each; i += 4) // grey fills each channel
        EXPECT_EQ(std::vector<uint8_t>(values.begin() + i, values.begin() + i + 4), (std::vector<uint8_t>{9, 10, 11, 255}));
      EXPECT_EQ(values[each], 1);
      EXPECT_EQ(std::get<std::vector<int32_t>>(batch[1]), (std::vector<int32_t>{1, 2}));
    }
    EXPECT_EQ(countSamples(plan, pictureShape(2, {2, 2})), 3);
  }
}

// [sample, channel, row, column]
TEST_F(PictureData, idxFilesWithChannelsArePreparedAsPictures) {
  const std::string colours("\1\2\3\4\x11\x12\x13\x14\x21\x22\x23\x24", 12);
  DataPlan plan = arrays(file("i", idx({1, 3, 2, 2}, colours)), file("l", idx({1}, std::string(1, 0))));
  auto first = [&](const std::vector<int64_t> &sizes) {
    auto source = DataSource::open(plan, 0, pictureShape(1, sizes));
    EXPECT_TRUE(source.ok()) << source.status().message();
    return source.ok() ? std::get<std::vector<uint8_t>>((*source)->batch(0)[0]) : std::vector<uint8_t>();
  };
  EXPECT_EQ(first({3, 2, 2}), std::vector<uint8_t>(colours.begin(), colours.end()));
  plan.training = {{PictureStepKind::Flip, {1}}};
  EXPECT_EQ(first({3, 2, 2}), (std::vector<uint8_t>{2, 1, 4, 3, 0x12, 0x11, 0x14, 0x13, 0x22, 0x21, 0x24, 0x23}));
  plan.groups[0].files[0].path = file("g", idx({1, 1, 2, 2}, "abcd"));
  EXPECT_EQ(first({1, 2, 2}), (std::vector<uint8_t>{'b', 'a', 'd', 'c'}));
  EXPECT_EQ(first({2, 2}), (std::vector<uint8_t>{'b', 'a', 'd', 'c'}));
  const std::string &path = plan.groups[0].files[0].path = file("last", idx({1, 2, 2, 1}, "abcd"));
  EXPECT_EQ(refused(plan, pictureShape(1, {2, 2})),
            "'" + path +
                "' has samples of shape [2, 2, 1], but input 'image' is u8 [batch 1, row 2, column 2]; steps prepare arrays over "
                "[row, column], or [channel, row, column] with 1 or 3 channels");
  plan.training.clear();
  EXPECT_EQ(first({2, 2}), (std::vector<uint8_t>{'a', 'b', 'c', 'd'}));
}

// The mean of two classes is none.
TEST_F(PictureData, stepsThatWouldMixClassesAreRefused) {
  DataPlan plan = arrays(file("i", idx({1, 2, 2}, "abcd")), file("l", idx({1}, std::string(1, 0))));
  auto said = [&](const BatchShape &shape) {
    EXPECT_EQ(refused(plan, shape), "");
    DataPlan steps = plan;
    steps.evaluation = {{PictureStepKind::Resize, {}}};
    std::string text = refused(steps, shape),
                begin = "'" + plan.groups[0].files[0].path +
                        "' feeds input 'image', which steps would change: they mix the values of u8 pictures, but ";
    EXPECT_EQ(text.rfind(begin, 0), 0u) << text;
    return text.substr(std::min(text.size(), begin.size()));
  };
  const std::string help = "; give arrays that have the sizes of the inputs and remove the steps";
  BatchShape shape = pictureShape(1, {2, 2});
  shape.inputs[0].ignore = 255;
  EXPECT_EQ(said(shape), "255 does not count in the loss" + help);
  shape.inputs[0].ignore.reset();
  shape.inputs[0].range = {200, "kinds", ""};
  EXPECT_EQ(said(shape), "axis 'kinds' has 200 classes, 0 to 199" + help);
  shape.inputs[0].range = {};
  shape.inputs[0].type = program::ElementType::I32;
  EXPECT_EQ(said(shape), "the input is i32 [batch 1, row 2, column 2]" + help);
}

// A training cannot continue with pictures that are changed in another way.
TEST_F(PictureData, stepsBelongToTheOrder) {
  DataPlan plan = folders();
  plan.training = {
      {PictureStepKind::Resize, {}, pictures::Interpolation::Nearest}, {PictureStepKind::RandomCrop, {4}}, {PictureStepKind::Flip, {0.5}}};
  EXPECT_EQ(plan.orderText(), "sequential, resize(by nearest), random_crop(4), flip(0.5)");
}

TEST_F(PictureData, idxFilesThatAreNotIntactAreRefused) {
  std::string good = idx({2, 3}, "abcdef");
  EXPECT_EQ(refusedFile("ab"), "it has 2 bytes, fewer than the 4 at its beginning");
  EXPECT_EQ(refusedFile("PK\3\4abc"), "it begins with the bytes 50 4b 03 04; an IDX file of bytes begins with 00 00 08");
  EXPECT_EQ(refusedFile(std::string("\0\0\xD\1", 4)), "its elements have the type 13; npar reads type 8, unsigned bytes");
  EXPECT_EQ(refusedFile(std::string("\0\0\x8\5", 4)), "it has 5 dimensions; npar reads 1 to 4, samples first");
  EXPECT_EQ(refusedFile(good.substr(0, 9)), "it ends within its 2 dimensions");
  EXPECT_EQ(refusedFile(good.substr(0, 17)), "it has 17 bytes, but 2 x 3 elements and their header take 18");
  EXPECT_EQ(refusedFile(good + "x"), "it has 19 bytes, but 2 x 3 elements and their header take 18");
  EXPECT_EQ(refusedFile(idx({2, 0}, "")), "its samples are empty: it has 2 x 0 elements");
  EXPECT_EQ(refusedFile(idx({4000000000, 4000000000, 4000000000}, "")),
            "it ends too early: its dimensions say 4000000000 x 4000000000 x 4000000000 elements, but it can have 16 at most");
  EXPECT_EQ(refusedFile(packed(good.substr(0, 17))), "it has 5 elements, but its dimensions say 2 x 3");
  EXPECT_EQ(refusedFile(packed(good + "x")), "it has more than 6 elements, but its dimensions say 2 x 3");
  EXPECT_EQ(refusedFile(packed(idx({4000000000, 4000000000}, ""))).substr(0, 18), "it ends too early:");
  std::string gzip = packed(good);
  for (size_t size = 2; size < gzip.size(); ++size)
    EXPECT_NE(refusedFile(gzip.substr(0, size)), "") << size;
  gzip[gzip.size() - 6] ^= 1; // the checksum
  EXPECT_EQ(refusedFile(gzip), "its gzip data are damaged: incorrect data check");
}

TEST_F(PictureData, idxFilesThatDoNotFitAreRefused) {
  std::string images = file("i", idx({2, 2, 2}, "abcdefgh")), labels = file("l", idx({2}, std::string("\0\1", 2)));
  EXPECT_EQ(refused(arrays(images, file("m", idx({3}, "abc"))), pictureShape(2, {2, 2})),
            "'" + folder + "/m' has 3 samples, '" + images + "' has 2");
  EXPECT_EQ(refused(arrays(images, file("m", idx({2}, std::string("\0\3", 2)))), pictureShape(2, {2, 2})),
            "'" + folder + "/m' has in sample 1 'label' 3, but axis 'classes' has 3 classes, 0 to 2");
  EXPECT_EQ(refused(arrays(images, labels), pictureShape(2, {28, 28})),
            "sample 0 of '" + images +
                "' has 2 x 2 pixels, but the input takes 28 x 28; resize or cut it: `pictures: resize(28), center_crop`");
  EXPECT_EQ(refused(arrays(file("flat", idx({2, 5}, "abcdefghij")), labels), pictureShape(2, {2, 2})),
            "'" + folder + "/flat' has samples of shape [5], but input 'image' is u8 [batch 2, row 2, column 2]");
  BatchShape narrow = pictureShape(2, {2, 2});
  narrow.inputs[0].range = {100, "greys", ""};
  EXPECT_EQ(refused(arrays(images, labels), narrow),
            "'" + images + "' has in sample 0 'image' 100 at position [1, 1], but axis 'greys' has 100 classes, 0 to 99");
}

TEST_F(PictureData, foldersAreClassesInTheOrderOfTheirNames) {
  picture("photos/bee/2.png", 2, 2, 20);
  picture("photos/bee/10.PNG", 2, 2, 10);
  picture("photos/Wasp/a.png", 2, 2, 30);
  picture("photos/ant/a.png", 2, 2, 40);
  file("photos/notes.txt", "x"), file("photos/bee/.hidden.png", "x");
  auto source = DataSource::open(folders(), 0, pictureShape(4, {3, 2, 2}));
  ASSERT_TRUE(source.ok()) << source.status().message();
  Batch batch = (*source)->batch(0);
  EXPECT_EQ(std::get<std::vector<int32_t>>(batch[1]), (std::vector<int32_t>{0, 1, 2, 2})) << "bytes: capitals come first";
  const auto &values = std::get<std::vector<uint8_t>>(batch[0]);
  EXPECT_EQ(values[0], 30) << "red of the first pixel";
  EXPECT_EQ(std::vector<uint8_t>(values.begin() + 8, values.begin() + 12), (std::vector<uint8_t>{0, 1, 2, 3}))
      << "blue comes after red and green";
  EXPECT_EQ(values[2 * 12], 10);
  EXPECT_EQ((*source)->nameOf((*source)->places(0)[2]), "bee/10.PNG");
  EXPECT_EQ((*source)->remarks(),
            (std::vector<std::string>{"2 files in '" + folder + "/photos' that are not PNG or JPEG files of a class are ignored"}));
  EXPECT_EQ((*source)->stream(), "images");
  EXPECT_EQ(countSamples(folders(), pictureShape(4, {3, 2, 2})), 4);
}

TEST_F(PictureData, foldersThatDoNotFitAreRefused) {
  const std::string photos = folder + "/photos";
  BatchShape shape = pictureShape(1, {3, 2, 2});
  EXPECT_EQ(refused(folders(), shape), "cannot read the pictures '" + photos + "': there is no such folder");
  std::filesystem::create_directory(photos);
  EXPECT_EQ(refused(folders(), shape), "folder '" + photos + "' has no sub-folders: it needs one for each class of pictures");
  std::filesystem::create_directory(photos + "/ant");
  EXPECT_EQ(refused(folders(), shape), "class folder '" + photos +
                                           "/ant' has no PNG or JPEG file (.png, .jpg, .jpeg), among 0 files; remove the "
                                           "folder or put pictures into it");
  picture("photos/ant/a.png", 3, 2, 40);
  EXPECT_EQ(refused(folders(), shape), "picture '" + photos +
                                           "/ant/a.png' has 3 x 2 pixels, but the input takes 2 x 2; resize or cut it: "
                                           "`pictures: resize(2), center_crop`");
  for (const char *name : {"b", "c", "d"})
    picture(std::string("photos/") + name + "/a.png", 2, 2, 1);
  EXPECT_EQ(refused(folders(), shape), "'" + photos + "' has 4 class folders for input 'label', but axis 'classes' has 3 classes, 0 to 2");
}

// A class has one number in all of them.
TEST_F(PictureData, foldersOfOneBlockHaveTheSameClasses) {
  for (const char *name : {"photos/cat/a.png", "photos/dog/a.png", "more/cat/a.png", "more/dog/a.png"})
    picture(name, 2, 2, 1);
  DataPlan plan = folders();
  const std::string first = folder + "/photos", second = folder + "/more",
                    help = "; give the folders of a data block sub-folders of the same names";
  plan.groups[0].files.push_back({second, DataFormat::Images});
  BatchShape shape = pictureShape(4, {3, 2, 2});
  EXPECT_EQ(refused(plan, shape), "");
  std::filesystem::rename(second + "/cat", second + "/bird");
  EXPECT_EQ(refused(plan, shape), "class 0 of '" + second + "' is 'bird', that of '" + first + "' is 'cat'" + help);
  std::filesystem::rename(second + "/bird", second + "/cat");
  std::filesystem::rename(second + "/dog", folder + "/dog");
  EXPECT_EQ(refused(plan, shape), "'" + second + "' has no class 'dog', '" + first + "' has one" + help);
  std::swap(plan.groups[0].files[0], plan.groups[0].files[1]);
  EXPECT_EQ(refused(plan, shape), "'" + first + "' has a class 'dog', '" + second + "' has none" + help);
  plan.groups[0].feeds.pop_back(); // pictures alone have no classes
  EXPECT_EQ(refused(plan, pictureShape(1, {3, 2, 2}, /*labels=*/false)), "");
}

// A damaged picture after the first one is an error of its batch, with its path, and of no batch before it.
TEST_F(PictureData, damageIsFoundAtItsBatch) {
  for (const char *name : {"a", "b", "c"})
    picture(std::string("photos/ant/") + name + ".png", 2, 2, 1);
  std::filesystem::resize_file(folder + "/photos/ant/c.png", 50);
  auto source = DataSource::open(folders(), 0, pictureShape(1, {3, 2, 2}));
  ASSERT_TRUE(source.ok()) << source.status().message();
  (*source)->batch(0), (*source)->batch(1);
  EXPECT_TRUE((*source)->intact().ok());
  (*source)->batch(2);
  EXPECT_EQ((*source)->intact().code(), Code::BadInput);
  EXPECT_NE((*source)->intact().message().find("cannot read picture '" + folder + "/photos/ant/c.png': its PNG data are damaged: "),
            std::string::npos)
      << (*source)->intact().message();
}

// Any number of threads makes the same batches, in training and evaluation, and finds the first damaged picture of a batch.
TEST_F(PictureData, threadsMakeTheSameBatches) {
  for (int i = 0; i < 40; ++i)
    picture("photos/ant/" + std::to_string(10 + i) + ".png", 5 + i % 7, 4 + i % 5, static_cast<uint8_t>(5 * i));
  DataPlan plan = folders();
  plan.order = Order::Shuffled;
  plan.training = {{PictureStepKind::RandomResizedCrop, {0.1, 1, 0.75, 1.3}}, {PictureStepKind::Flip, {0.5}}};
  plan.evaluation = {{PictureStepKind::Resize, {}}};
  BatchShape shape = pictureShape(20, {3, 4, 4});
  auto one = DataSource::open(plan, 9, shape), many = DataSource::open(plan, 9, shape);
  auto pass = OncePass::open(plan, shape, 1), passes = OncePass::open(plan, shape, 1);
  ASSERT_TRUE(one.ok() && many.ok() && pass.ok() && passes.ok());
  EXPECT_EQ((*one)->classes(), std::vector<std::string>{"ant"});
  EXPECT_EQ((*pass)->classes(), std::vector<std::string>{"ant"});
  (*many)->useWorkers(8), (*passes)->useWorkers(8);
  for (int64_t step = 0; step < 5; ++step)
    EXPECT_EQ((*one)->batch(step), (*many)->batch(step)) << step;
  for (int64_t step = 0; step < 2; ++step)
    EXPECT_EQ((*pass)->batch(step).batch, (*passes)->batch(step).batch) << step;
  EXPECT_TRUE((*many)->intact().ok()) << (*many)->intact().message();

  std::vector<SamplePlace> places = (*one)->places(0);
  for (size_t row : {size_t{3}, size_t{7}, size_t{19}})
    std::filesystem::resize_file(folder + "/photos/" + (*one)->nameOf(places[row]), 50);
  for (int workers : {1, 8}) {
    auto source = DataSource::open(plan, 9, shape);
    ASSERT_TRUE(source.ok()) << source.status().message();
    (*source)->useWorkers(workers);
    (*source)->batch(0);
    EXPECT_NE((*source)->intact().message().find("cannot read picture '" + folder + "/photos/" + (*one)->nameOf(places[3])),
              std::string::npos)
        << (*source)->intact().message();
  }
}

// The same sample is changed in another way in each epoch, and in the same way whatever the batch, the place in the order and the process.
TEST_F(PictureData, randomChangesDependOnSeedEpochAndSample) {
  std::string elements;
  for (int i = 0; i < 10 * 64; ++i)
    elements += static_cast<char>(i * 7 % 251);
  DataPlan plan = arrays(file("i", idx({10, 8, 8}, elements)), file("l", idx({10}, std::string(10, 0))));
  plan.order = Order::Shuffled;
  plan.training = {{PictureStepKind::RandomCrop, {2}}, {PictureStepKind::Flip, {0.5}}};
  using Key = std::pair<int64_t, int64_t>; // epoch and sample
  auto changed = [&](const DataPlan &plan, int64_t rows, uint64_t seed, std::vector<int64_t> kept) {
    BatchShape shape = pictureShape(rows, {8, 8});
    auto source = DataSource::open(plan, seed, shape);
    EXPECT_TRUE(source.ok());
    if (!kept.empty())
      (*source)->keepRows(kept);
    std::map<Key, std::vector<uint8_t>> found;
    for (int64_t step = 0; step * rows < 20; ++step) {
      Batch batch = (*source)->batch(step);
      const auto &values = std::get<std::vector<uint8_t>>(batch[0]);
      std::vector<SamplePlace> places = (*source)->places(step);
      for (size_t i = 0; i < values.size() / 64; ++i) {
        const SamplePlace &place = places[kept.empty() ? i : static_cast<size_t>(kept[i])];
        found[{place.epoch, place.sample}] = {values.begin() + static_cast<std::ptrdiff_t>(64 * i),
                                              values.begin() + static_cast<std::ptrdiff_t>(64 * (i + 1))};
      }
    }
    return found;
  };
  auto whole = changed(plan, 5, 1, {});
  EXPECT_EQ(whole.size(), 20u);
  EXPECT_EQ(changed(plan, 4, 1, {}), whole) << "other batches";
  for (const auto &[key, values] : changed(plan, 4, 1, {1, 3}))
    EXPECT_EQ(values, whole[key]) << "one of two processes";
  plan.order = Order::Sequential;
  EXPECT_EQ(changed(plan, 5, 1, {}), whole) << "another order";
  EXPECT_NE(changed(plan, 5, 2, {}), whole) << "another seed";
  int same = 0;
  for (int64_t sample = 0; sample < 10; ++sample)
    same += whole[{0, sample}] == whole[{1, sample}];
  EXPECT_LE(same, 2) << "another epoch";
  auto pass = OncePass::open(plan, pictureShape(10, {8, 8}), 1); // an evaluation changes nothing
  ASSERT_TRUE(pass.ok());
  EXPECT_EQ(std::get<std::vector<uint8_t>>((*pass)->batch(0).batch[0]), std::vector<uint8_t>(elements.begin(), elements.end()));
}

// A part of a split keeps the random numbers of the whole.
TEST_F(PictureData, partsKeepTheirSamples) {
  for (int i = 0; i < 20; ++i)
    picture("photos/ant/" + std::to_string(10 + i) + ".png", 2, 2, static_cast<uint8_t>(i));
  DataPlan plan = folders();
  plan.split = {{0.5, 0.5}, 3, 0};
  std::set<int> seen;
  for (plan.split.part = 0; plan.split.part < 2; ++plan.split.part) {
    auto source = DataSource::open(plan, 0, pictureShape(10, {3, 2, 2}));
    ASSERT_TRUE(source.ok()) << source.status().message();
    Batch batch = (*source)->batch(0);
    for (size_t i = 0; i < 10; ++i) {
      int value = std::get<std::vector<uint8_t>>(batch[0])[12 * i];
      seen.insert(value);
      EXPECT_EQ((*source)->nameOf((*source)->places(0)[i]), "ant/" + std::to_string(10 + value) + ".png");
    }
  }
  EXPECT_EQ(seen.size(), 20u);
}

} // namespace
} // namespace npar::testing
