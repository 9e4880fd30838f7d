// The only file that sees libpng and libjpeg. Both report errors by a jump back to setjmp: the functions that a jump may leave hold no
// object with a destructor, and write into the Job of their caller.
#include "engine/pictures/Codecs.h"

#include "engine/files/RangeFile.h"
#include "engine/pictures/Orientation.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <jpeglib.h>
#include <png.h>

#include <jerror.h>

namespace npar::pictures {
namespace {

using engine::Result;
using engine::Status;

/// Input and output of a decoder.
struct Job {
  const uint8_t *bytes;
  size_t size, place = 0;
  Picture picture = {};
  int orientation = 1;
  bool inverted = false; ///< CMYK as Adobe's programs write it
  std::vector<uint8_t *> rows = {};
  std::vector<png_color> palette = {}; ///< the picture has indices into it
  char message[JMSG_LENGTH_MAX] = "";

  /// Makes room for the pixels; false, with a message, for too many.
  bool prepare(uint64_t width, uint64_t height, int channels) {
    if (width * height > static_cast<uint64_t>(mostPixels)) {
      std::snprintf(message, sizeof(message), "it has %llu x %llu pixels, more than the %lld that are read",
                    static_cast<unsigned long long>(height), static_cast<unsigned long long>(width), static_cast<long long>(mostPixels));
      return false;
    }
    picture = Picture(static_cast<int64_t>(height), static_cast<int64_t>(width), channels);
    for (int64_t row = 0; row < picture.height; ++row)
      rows.push_back(picture.at(row, 0));
    return true;
  }
};

//===- PNG ------------------------------------------------------------------------------------------------------------------===//

[[noreturn]] void pngFails(png_structp png, png_const_charp text) {
  auto *job = static_cast<Job *>(png_get_error_ptr(png));
  std::snprintf(job->message, sizeof(job->message), "%s", text);
  png_longjmp(png, 1);
}

void pngWarns(png_structp, png_const_charp) {} // of chunks that do not matter, such as a wrong colour profile

void pngReads(png_structp png, png_bytep to, size_t size) {
  auto *job = static_cast<Job *>(png_get_io_ptr(png));
  if (size > job->size - job->place)
    png_error(png, "the file ends too early");
  std::memcpy(to, job->bytes + job->place, size);
  job->place += size;
}

bool decodePng(Job *job) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, job, pngFails, pngWarns);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    std::snprintf(job->message, sizeof(job->message), "not enough memory");
    png_destroy_read_struct(&png, nullptr, nullptr);
    return false;
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_read_fn(png, job, pngReads);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, info);
  const bool hasPalette = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE;
  if (hasPalette)
    png_set_packing(png); // one index per byte
  else
    png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (job->prepare(png_get_image_width(png, info), png_get_image_height(png, info), png_get_channels(png, info))) {
    png_read_image(png, job->rows.data());
    png_read_end(png, info);
    png_colorp colours = nullptr;
    int number = 0;
    if (hasPalette && png_get_PLTE(png, info, &colours, &number))
      job->palette.assign(colours, colours + number);
    png_bytep exif = nullptr;
    png_uint_32 length = 0;
    if (png_get_eXIf_1(png, info, &length, &exif))
      job->orientation = orientationOf(exif, length);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return !job->message[0];
}

struct PngWriting {
  Job job{nullptr, 0};
  std::vector<uint8_t> *bytes;
};

void pngWrites(png_structp png, png_bytep from, size_t size) {
  auto *bytes = static_cast<PngWriting *>(png_get_io_ptr(png))->bytes;
  bytes->insert(bytes->end(), from, from + size);
}

void pngFlushes(png_structp) {}

bool writePng(PngWriting *writing, const Picture *picture) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing->job, pngFails, pngWarns);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    std::snprintf(writing->job.message, sizeof(writing->job.message), "not enough memory");
    png_destroy_write_struct(&png, nullptr);
    return false;
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, writing, pngWrites, pngFlushes);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture->width), static_cast<png_uint_32>(picture->height), 8,
               picture->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int64_t row = 0; row < picture->height; ++row)
    png_write_row(png, picture->at(row, 0));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

//===- JPEG -----------------------------------------------------------------------------------------------------------------===//

/// First member: what libjpeg knows.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  Job *job;
};

[[noreturn]] void jpegFails(j_common_ptr jpeg) {
  auto *errors = reinterpret_cast<JpegErrors *>(jpeg->err);
  errors->manager.format_message(jpeg, errors->job->message);
  std::longjmp(errors->jump, 1);
}

/// A warning means that pixels are missing or guessed, except for those of needless bytes and of unusual markers.
void jpegWarns(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR && code != JWRN_BOGUS_PROGRESSION)
    jpegFails(jpeg);
}

void jpegPrints(j_common_ptr) {}

/// Each scan of a progressive file costs the time of a whole picture, however few bytes it has.
void jpegCounts(j_common_ptr jpeg) {
  constexpr int mostScans = 500;
  auto *errors = reinterpret_cast<JpegErrors *>(jpeg->err);
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= mostScans)
    return;
  std::snprintf(errors->job->message, sizeof(errors->job->message), "it has more than the %d scans that are read", mostScans);
  std::longjmp(errors->jump, 1);
}

void findOrientation(jpeg_decompress_struct *jpeg, Job *job) {
  for (jpeg_saved_marker_ptr marker = jpeg->marker_list; marker; marker = marker->next)
    if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 && std::memcmp(marker->data, "Exif\0\0", 6) == 0) {
      job->orientation = orientationOf(marker->data + 6, marker->data_length - 6);
      return;
    }
}

bool decodeJpeg(Job *job) {
  jpeg_decompress_struct jpeg;
  JpegErrors errors;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jpegFails, errors.manager.emit_message = jpegWarns, errors.manager.output_message = jpegPrints;
  errors.job = job;
  if (setjmp(errors.jump)) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = jpegCounts;
  jpeg.progress = &progress;
  jpeg_mem_src(&jpeg, job->bytes, job->size);
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&jpeg, TRUE);
  findOrientation(&jpeg, job);
  bool hasFour = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  job->inverted = jpeg.saw_Adobe_marker;
  jpeg.out_color_space = hasFour ? JCS_CMYK : jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(&jpeg);
  if (job->prepare(jpeg.output_width, jpeg.output_height, jpeg.out_color_components)) {
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height)
      jpeg_read_scanlines(&jpeg, job->rows.data() + jpeg.output_scanline, jpeg.output_height - jpeg.output_scanline);
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return !job->message[0];
}

/// Refuses an index without a colour, for which libpng would take black.
Result<Picture> fromPalette(const Picture &indices, const std::vector<png_color> &palette) {
  Picture result(indices.height, indices.width, 3);
  for (size_t pixel = 0; pixel < indices.bytes.size(); ++pixel) {
    size_t index = indices.bytes[pixel];
    if (index >= palette.size())
      return Status::badInput("a pixel has colour " + std::to_string(index) + " of a palette of " + std::to_string(palette.size()));
    const png_color &colour = palette[index];
    result.bytes[3 * pixel] = colour.red, result.bytes[3 * pixel + 1] = colour.green, result.bytes[3 * pixel + 2] = colour.blue;
  }
  return result;
}

/// Ink to light.
Picture fromCmyk(const Picture &cmyk, bool inverted) {
  Picture result(cmyk.height, cmyk.width, 3);
  for (int64_t pixel = 0; pixel < cmyk.height * cmyk.width; ++pixel) {
    const uint8_t *from = cmyk.bytes.data() + pixel * 4;
    int light = inverted ? from[3] : 255 - from[3];
    for (int64_t channel = 0; channel < 3; ++channel) {
      int ink = (inverted ? 255 - from[channel] : from[channel]) * light + 128;
      result.bytes[static_cast<size_t>(pixel * 3 + channel)] = static_cast<uint8_t>(light - (((ink >> 8) + ink) >> 8));
    }
  }
  return result;
}

} // namespace

Result<Picture> decodePicture(const uint8_t *bytes, size_t size, const std::string &path) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read picture '" + path + "': " + why); };
  bool isPng = size >= 8 && png_sig_cmp(bytes, 0, 8) == 0, isJpeg = size >= 3 && std::memcmp(bytes, "\xFF\xD8\xFF", 3) == 0;
  if (!isPng && !isJpeg)
    return failure(size == 0 ? "it is empty" : "it is neither a PNG nor a JPEG file");
  Job job{bytes, size};
  if (!(isPng ? decodePng(&job) : decodeJpeg(&job)))
    return failure(std::string(isPng ? "its PNG data are damaged: " : "its JPEG data are damaged: ") + job.message);
  if (!job.palette.empty()) {
    Result<Picture> coloured = fromPalette(job.picture, job.palette);
    if (!coloured.ok())
      return failure("its PNG data are damaged: " + coloured.status().message());
    job.picture = std::move(*coloured);
  }
  if (job.picture.channels == 4)
    job.picture = fromCmyk(job.picture, job.inverted);
  return oriented(std::move(job.picture), job.orientation);
}

Result<Picture> readPicture(const std::string &path) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "picture");
  if (!file.ok())
    return file.status();
  constexpr uint64_t mostBytes = 1 << 30;
  if (file->size() > mostBytes)
    return Status::badInput("cannot read picture '" + path + "': it has " + std::to_string(file->size()) + " bytes, more than " +
                            std::to_string(mostBytes));
  std::vector<uint8_t> bytes(file->size());
  if (Status status = file->read(0, bytes.size(), bytes.data()); !status.ok())
    return status;
  return decodePicture(bytes.data(), bytes.size(), path);
}

Result<std::vector<uint8_t>> encodePng(const Picture &picture) {
  std::vector<uint8_t> bytes;
  PngWriting writing;
  writing.bytes = &bytes;
  if (!writePng(&writing, &picture))
    return Status::runFailed(std::string("cannot make a PNG file: ") + writing.job.message);
  return bytes;
}

} // namespace npar::pictures
