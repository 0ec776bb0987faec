#include "kernels/data/dataset.hpp"

#include "kernels/data/sampler.hpp"
#include "proto/digest.hpp"
#include "tests/kernels/gzip_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <vector>

BOOST_AUTO_TEST_SUITE(dataset)

using namespace perigee::kernels;
using perigee::data_kind;
using perigee::data_spec;
using perigee::digest128;
using perigee::test::temporary_folder;

namespace {

using opened = perigee::result<std::shared_ptr<const perigee::kernels::dataset>>;

/// Returns shape and counts, or the error.
std::string told(const opened& data) {
  if (!data) return std::string(text(data.why().code)) + ": " + data.why().what;
  const dataset_info& i = (*data)->info();
  std::ostringstream words;
  if (i.kind == sample_kind::image) words << i.H << "x" << i.W << "x" << i.C;
  if (i.kind == sample_kind::tokens) words << i.T << " tokens";
  words << ", " << i.classes << " classes, " << i.training_count << "+" << i.validation_count;
  return words.str();
}

/// Returns `input > targets` of one sample.
std::string told(const opened& data, split part, std::uint64_t index) {
  const dataset_info& i = (*data)->info();
  std::ostringstream words;
  if (i.kind == sample_kind::image) {
    std::vector<float> values(static_cast<std::size_t>(i.H * i.W * i.C));
    std::int32_t label = 0;
    (*data)->input(part, index, values.data());
    (*data)->target(part, index, &label);
    for (const float value : values) words << value << " ";
    words << "> " << label;
    return words.str();
  }
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(i.T));
  std::vector<std::int32_t> targets(tokens.size());
  (*data)->input(part, index, tokens.data());
  (*data)->target(part, index, targets.data());
  for (const auto token : tokens) words << (*data)->symbol(token);
  words << " > ";
  for (const auto t : targets) words << (t == not_counted ? "_" : (*data)->symbol(t));
  return words.str();
}

data_spec spec_of(data_kind kind, const std::string& path, const std::string& labels_path = "") {
  data_spec spec;
  spec.kind = kind;
  spec.path = path;
  spec.labels_path = labels_path;
  return spec;
}

data_spec text_file(const temporary_folder& folder, const std::string& content) {
  return spec_of(data_kind::text, folder.write("text", content));
}

data_spec csv_file(const temporary_folder& folder, const std::string& content) {
  return spec_of(data_kind::csv, folder.write("table.csv", content));
}

/// Returns an IDX file with this rank, dimensions below 256 and values.
std::string idx_bytes(std::initializer_list<int> shape, const std::string& values) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(shape.size());
  for (const int size : shape) file += std::string(3, '\0') + static_cast<char>(size);
  return file + values;
}

data_spec idx_files(const temporary_folder& folder, const std::string& images,
                    const std::string& labels) {
  return spec_of(data_kind::idx, folder.write("images", images), folder.write("labels", labels));
}

data_spec mnist() {
  return spec_of(data_kind::idx, "../shared/data/mnist/t10k-images-idx3-ubyte.gz",
                 "../shared/data/mnist/t10k-labels-idx1-ubyte.gz");
}

}  // namespace

BOOST_AUTO_TEST_CASE(records_of_cifar_become_images_in_memory_order) {
  const temporary_folder folder;
  std::string records;
  for (const char label : {'\3', '\7', '\0'}) {
    records += label;
    for (int plane = 0; plane < 3; ++plane)
      records += std::string(1024, static_cast<char>(10 * plane + label));
  }
  data_spec spec = spec_of(data_kind::cifar10, folder.write("data.bin", records));
  spec.validation_count = 1;
  const auto data = open_dataset(spec, 0);
  BOOST_TEST(told(data) == "32x32x3, 10 classes, 2+1");
  std::vector<float> image(3072);
  (*data)->input(split::training, 1, image.data());
  BOOST_TEST((std::vector(image.end() - 3, image.end()) == std::vector<float>{7, 17, 27}));
  spec.kind = data_kind::cifar100;
  BOOST_TEST(told(open_dataset(spec, 0)) ==
             "malformed: " + spec.path + ": 9219 bytes are no whole number of records of 3074");
  std::string fine(3074, '\0');
  fine[1] = 99;
  spec = spec_of(data_kind::cifar100, folder.write("train.bin", fine));
  BOOST_TEST(told(open_dataset(spec, 0)) == "32x32x3, 100 classes, 1+0");
  spec = spec_of(data_kind::cifar10, folder.write("bad.bin", std::string(3073, '\x0b')));
  BOOST_TEST(told(open_dataset(spec, 0)) ==
             "malformed: " + spec.path + ": label 11 of record 0, the classes are 10");
}

BOOST_AUTO_TEST_CASE(numpy_arrays_become_samples) {
  const temporary_folder folder;
  const auto npy = [&](const std::string& name, const std::string& descr, const std::string& shape,
                       const std::string& values) {
    std::string head =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    return folder.write(name, std::string("\x93NUMPY\1\0", 8) + static_cast<char>(head.size()) +
                                  '\0' + head + values);
  };
  const auto why = [&](const std::string& images, const std::string& labels) {
    return told(open_dataset(spec_of(data_kind::npy, images, labels), 0));
  };
  const std::string images = npy("x.npy", "|u1", "(2, 1, 2)", std::string("\1\2\3\4", 4));
  const std::string labels = npy("y.npy", "|u1", "(2,)", std::string("\0\4", 2));
  const auto data = open_dataset(spec_of(data_kind::npy, images, labels), 0);
  BOOST_TEST(told(data) == "1x2x1, 5 classes, 2+0");
  std::vector<float> image(2);
  (*data)->input(split::training, 1, image.data());
  BOOST_TEST((image == std::vector<float>{3, 4}));
  const std::string rows = npy("r.npy", "|u1", "(2, 4)", std::string(8, '\1'));
  BOOST_TEST(why(rows, labels) == "2x2x1, 5 classes, 2+0");
  const std::string flat = npy("f.npy", "|u1", "(2,)", std::string(2, '\1'));
  BOOST_TEST(why(flat, labels) ==
             "malformed: " + flat +
                 ": 1 dimensions; samples have 2 to 4: [N,F], [N,H,W] or [N,H,W,C]");
  const std::string three = npy("t.npy", "|u1", "(3,)", std::string(3, '\1'));
  BOOST_TEST(why(images, three) == "malformed: " + three + ": 3 labels for 2 samples");
  BOOST_TEST(why(images, rows) == "malformed: " + rows + ": 2 dimensions; labels have 1");
  const std::string half = npy("h.npy", "<f4", "(2,)", std::string("\0\0\0\x3f\0\0\0\0", 8));
  BOOST_TEST(why(images, half) ==
             "malformed: " + half + ": label 0.500000 is no whole number from 0 to 16777215");
}

BOOST_AUTO_TEST_CASE(mnist_is_read_and_normalised) {
  data_spec spec = mnist();
  spec.validation_count = 2000;
  spec.scale = 1.0 / 255;
  spec.mean = 0.1307;
  spec.deviation = 0.3081;
  const auto data = open_dataset(spec, 0);
  BOOST_TEST(told(data) == "28x28x1, 10 classes, 8000+2000");
  std::vector<float> image(784);
  (*data)->input(split::training, 0, image.data());
  BOOST_TEST(image[0] == -0.424212918F);         // of 0
  BOOST_TEST(image[7 * 28 + 6] == 0.64495867F);  // of 84
  std::int32_t labels[2] = {};
  (*data)->target(split::training, 0, &labels[0]);
  (*data)->target(split::validation, 1999, &labels[1]);
  BOOST_TEST(labels[0] == 7);
  BOOST_TEST(labels[1] == 6);
}

BOOST_AUTO_TEST_CASE(the_digits_are_images_of_eight_by_eight) {
  data_spec spec = spec_of(data_kind::csv, "../shared/data/digits/digits.csv.gz");
  spec.validation_count = 357;
  spec.scale = 1.0 / 16;
  const auto data = open_dataset(spec, 0);
  BOOST_TEST(told(data) == "8x8x1, 10 classes, 1440+357");
  BOOST_TEST(told(data, split::training, 1).substr(0, 38) ==
             "0 0 0 0.75 0.8125 0.3125 0 0 0 0 0 0.6");
}

BOOST_AUTO_TEST_CASE(tiny_shakespeare_is_split_as_nanogpt_splits_it) {
  data_spec spec = spec_of(data_kind::text, "../shared/data/text/tinyshakespeare.txt");
  spec.validation_permille = 100;
  const auto data = open_dataset(spec, 64);
  // 1,003,854 characters train, 111,540 validate: 111,539 targets in windows of 64.
  BOOST_TEST(told(data) == "64 tokens, 65 classes, 1003790+1743");
  BOOST_TEST(told(data, split::training, 0).substr(0, 68) ==
             "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAl > i");
  BOOST_TEST(told(data, split::validation, 0).substr(0, 19) == "?\n\nGREMIO:\nGood mor");
}

BOOST_AUTO_TEST_CASE(a_training_sample_starts_at_each_character) {
  const temporary_folder folder;
  const auto data = open_dataset(text_file(folder, "abcdef"), 3);
  BOOST_TEST(told(data) == "3 tokens, 6 classes, 3+0");
  BOOST_TEST(told(data, split::training, 0) == "abc > bcd");
  BOOST_TEST(told(data, split::training, 2) == "cde > def");
}

BOOST_AUTO_TEST_CASE(validation_counts_each_position_once) {
  const temporary_folder folder;
  data_spec spec = text_file(folder, "abcdefghijklmnop");
  spec.validation_permille = 500;  // ijklmnop: 7 targets
  const auto data = open_dataset(spec, 3);
  BOOST_TEST(told(data) == "3 tokens, 16 classes, 5+3");
  BOOST_TEST(told(data, split::training, 4) == "efg > fgh");
  BOOST_TEST(told(data, split::validation, 0) == "ijk > jkl");
  BOOST_TEST(told(data, split::validation, 1) == "lmn > mno");
  BOOST_TEST(told(data, split::validation, 2) == "mno > __p");
}

BOOST_AUTO_TEST_CASE(a_symbol_is_a_whole_character) {
  const temporary_folder folder;
  const auto data = open_dataset(text_file(folder, "aπb€"), 2);
  BOOST_TEST(told(data) == "2 tokens, 4 classes, 2+0");
  BOOST_TEST((*data)->symbol(2) == "π");
  BOOST_TEST((*data)->symbol(4) == "");
  BOOST_TEST((*data)->symbol(-1) == "");
}

BOOST_AUTO_TEST_CASE(a_text_too_short_for_its_context_is_refused) {
  const temporary_folder folder;
  data_spec spec = text_file(folder, "abcdefghij");
  BOOST_TEST(told(open_dataset(spec, 9)) == "9 tokens, 10 classes, 1+0");
  BOOST_TEST(told(open_dataset(spec, 10)) ==
             "infeasible: " + spec.path + ": 10 characters for training; a context of 10 needs 11");
  BOOST_TEST(told(open_dataset(spec, 0)) == "infeasible: " + spec.path + ": a context of 0 tokens");
  spec.validation_permille = 200;
  BOOST_TEST(told(open_dataset(spec, 2)) ==
             "infeasible: " + spec.path + ": 2 characters for validation; a context of 2 needs 3");
  spec.validation_permille = 1001;
  BOOST_TEST(told(open_dataset(spec, 2)) ==
             "infeasible: " + spec.path + ": 0 characters for training; a context of 2 needs 3");
}

BOOST_AUTO_TEST_CASE(idx_images_may_have_channels) {
  const temporary_folder folder;
  const auto images = idx_bytes({2, 1, 2, 3}, "\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c");
  const auto data = open_dataset(idx_files(folder, images, idx_bytes({2}, "\1\3")), 0);
  BOOST_TEST(told(data) == "1x2x3, 4 classes, 2+0");
  BOOST_TEST(told(data, split::training, 1) == "7 8 9 10 11 12 > 3");
}

BOOST_AUTO_TEST_CASE(idx_files_that_do_not_fit_each_other_are_refused) {
  const temporary_folder folder;
  const auto refused = [&](const std::string& images, const std::string& labels) {
    const auto told_fault = told(open_dataset(idx_files(folder, images, labels), 0));
    return told_fault.substr(told_fault.rfind('/') + 1);
  };
  const auto image = idx_bytes({2, 1, 1}, "ab");
  const auto label = idx_bytes({2}, "\1\2");
  BOOST_TEST(refused(image, idx_bytes({3}, "\1\2\3")) == "labels: 3 labels for 2 images");
  BOOST_TEST(refused(image, image) == "labels: 3 dimensions; labels have 1");
  BOOST_TEST(refused(label, label) == "images: 1 dimensions; images have 3 or 4");
  BOOST_TEST(refused(idx_bytes({2, 0, 1}, ""), label) == "images: images without pixels");
  BOOST_TEST(refused("x", label) == "images: only 1 bytes");
  BOOST_TEST(refused(image, "x") == "labels: only 1 bytes");
}

BOOST_AUTO_TEST_CASE(a_table_that_is_no_square_is_one_row) {
  const temporary_folder folder;
  const auto data = open_dataset(csv_file(folder, "1,2,3,0\n4,5,6,2\n"), 0);
  BOOST_TEST(told(data) == "1x3x1, 3 classes, 2+0");
  BOOST_TEST(told(data, split::training, 1) == "4 5 6 > 2");
}

BOOST_AUTO_TEST_CASE(the_last_samples_are_kept_for_validation) {
  const temporary_folder folder;
  data_spec spec = csv_file(folder, "1,0\n2,0\n3,1\n");
  spec.validation_count = 2;
  const auto data = open_dataset(spec, 0);
  BOOST_TEST(told(data) == "1x1x1, 2 classes, 1+2");
  BOOST_TEST(told(data, split::training, 0) == "1 > 0");
  BOOST_TEST(told(data, split::validation, 1) == "3 > 1");
  spec.validation_count = 3;
  BOOST_TEST(told(open_dataset(spec, 0)) ==
             "infeasible: " + spec.path +
                 ": 3 samples, of which 3 are kept for validation: none are left to train");
}

BOOST_AUTO_TEST_CASE(values_are_scaled_and_normalised) {
  const temporary_folder folder;
  data_spec spec = csv_file(folder, "10,0\n");
  spec.scale = 0.5;
  spec.mean = 1;
  spec.deviation = -4;
  BOOST_TEST(told(open_dataset(spec, 0), split::training, 0) == "-1 > 0");
}

BOOST_AUTO_TEST_CASE(numbers_that_make_no_finite_values_are_refused) {
  const temporary_folder folder;
  data_spec spec = csv_file(folder, "10,0\n");
  spec.deviation = 0;
  BOOST_TEST(told(open_dataset(spec, 0)) ==
             "malformed: " + spec.path +
                 ": scale 1.000000, mean 0.000000, deviation 0.000000: all must be finite, and the "
                 "deviation not 0");
  spec.deviation = 1e-39;
  BOOST_TEST(told(open_dataset(spec, 0)) ==
             "malformed: " + spec.path +
                 ": value 10.000000, scaled and normalised, is no finite f32");
  data_spec bytes = mnist();
  bytes.scale = 1e38;
  BOOST_TEST(told(open_dataset(bytes, 0)).substr(0, 10) == "malformed:");
}

BOOST_AUTO_TEST_CASE(the_content_is_that_of_the_unzipped_bytes) {
  const temporary_folder folder;
  const std::string words = "some words";
  const auto plain = open_dataset(text_file(folder, words), 2);
  const auto zipped = open_dataset(text_file(folder, perigee::test::gzip_of(words)), 2);
  BOOST_TEST(told(zipped) == told(plain));
  BOOST_TEST(((*zipped)->info() == (*plain)->info()));
  BOOST_TEST(((*plain)->info().content == perigee::digest_of(std::as_bytes(std::span(words)))));
  const auto images = idx_bytes({1, 1, 1}, "x");
  const auto labels = idx_bytes({1}, "\1");
  const std::string both = images + labels;
  const auto pair = open_dataset(idx_files(folder, images, labels), 0);
  BOOST_TEST(((*pair)->info().content == perigee::digest_of(std::as_bytes(std::span(both)))));
}

BOOST_AUTO_TEST_CASE(another_content_than_the_job_names_is_refused) {
  const temporary_folder folder;
  data_spec spec = text_file(folder, "some words");
  const digest128 right = (*open_dataset(spec, 2))->info().content;
  spec.content = right;
  BOOST_TEST(told(open_dataset(spec, 2)) == "2 tokens, 8 classes, 8+0");
  spec.content.low ^= 1U;
  BOOST_TEST(told(open_dataset(spec, 2)) == "malformed: " + spec.path +
                                                ": the content's digest is " + text(right) +
                                                ", the job names " + text(spec.content));
  data_spec pair = mnist();
  pair.content = right;
  BOOST_TEST(told(open_dataset(pair, 0)).substr(0, 60) ==
             "malformed: ../shared/data/mnist/t10k-images-idx3-ubyte.gz wi");
}

BOOST_AUTO_TEST_CASE(faults_of_a_file_reach_the_caller) {
  const temporary_folder folder;
  const auto absent = [](data_kind kind, const std::string& path) {
    return told(open_dataset(spec_of(kind, path, "no/such"), 2));
  };
  BOOST_TEST(absent(data_kind::text, "no/text") == "io: open no/text: No such file or directory");
  BOOST_TEST(absent(data_kind::idx, "no/images") ==
             "io: open no/images: No such file or directory");
  BOOST_TEST(absent(data_kind::idx, mnist().path) == "io: open no/such: No such file or directory");
  const data_spec text = text_file(folder, "ab\xff");
  BOOST_TEST(told(open_dataset(text, 1)) ==
             "malformed: text " + text.path + ": no UTF-8 at byte 2");
  const data_spec csv = csv_file(folder, "1,x\n");
  BOOST_TEST(told(open_dataset(csv, 1)) ==
             "malformed: csv " + csv.path +
                 ": line 1 column 2: label x is no whole number from 0 to 65535");
}

BOOST_AUTO_TEST_CASE(samples_follow_the_sampler_of_the_training_part) {
  const temporary_folder folder;
  const auto data = open_dataset(text_file(folder, "abcdefghij"), 3);
  for (const std::uint64_t position : {0, 3, 6, 7, 700}) {
    BOOST_TEST((*data)->sample_at(5, position) == sample_of(5, position, 7));
  }
}

BOOST_AUTO_TEST_SUITE_END()
