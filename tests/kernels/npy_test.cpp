#include "kernels/format/npy.hpp"

#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>

BOOST_AUTO_TEST_SUITE(npy)

using namespace perigee::kernels;

namespace {

/// Returns `type shape : first elements`, or the error.
std::string told(const perigee::result<npy_array>& array) {
  if (!array) return std::string(text(array.why().code)) + ": " + array.why().what;
  std::ostringstream words;
  words << text(array->type);
  for (const auto size : array->shape) words << " " << size;
  words << " :";
  const auto values = doubles_of(*array);
  for (std::size_t i = 0; i < values.size() && i < 6; ++i) words << " " << values[i];
  return words.str();
}

std::string told_file(const std::string& name) { return told(read_npy("../shared/data/" + name)); }

std::string told(const std::string& header, const std::string& data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size());
  file += std::string(version == 1 ? 1 : 3, '\0');
  file += header + data;
  return told(parse_npy(std::as_bytes(std::span(file)), "n"));
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

const std::string bytes6 = std::string("\0\1\2\3\4\5", 6);

}  // namespace

BOOST_AUTO_TEST_CASE(files_of_numpy_are_read) {
  BOOST_TEST(told_file("npy/python3.npy") == "F64 2 : 1 1");
  BOOST_TEST(told_file("npy/win64python2.npy") == "F64 2 : 1 1");
  BOOST_TEST(told_file("npy/historic_deltat.npy") ==
             "F64 2 656 : 2.32627e+06 2.32645e+06 2.32663e+06 2.32681e+06 2.327e+06 2.32718e+06");
  BOOST_TEST(told_file("npy/morrison_stephenson_deltat.npy") ==
             "F64 2 28 : 1.53844e+06 1.57496e+06 1.61149e+06 1.64801e+06 1.68454e+06 1.72106e+06");
}

BOOST_AUTO_TEST_CASE(reference_parameters_and_losses_are_read) {
  BOOST_TEST(told_file("torch-reference/mlp-digits/init_w1.npy") ==
             "F32 32 64 : 0.000153769 0.0373432 -0.0342672 -0.111324 -0.0568338 -0.123956");
  const auto loss = read_npy("../shared/data/torch-reference/mlp-digits/sgd_loss.npy");
  BOOST_TEST(doubles_of(*loss).front() == 2.31206, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(doubles_of(*loss).back() == 0.38538, boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(an_array_of_objects_is_refused) {
  const auto array = read_npy("../shared/data/npy/py3-objarr.npy");
  BOOST_TEST((array.why().code == perigee::errc::unsupported));
  BOOST_TEST(array.why().what ==
             "npy ../shared/data/npy/py3-objarr.npy: elements of type |O8, objects of Python");
}

BOOST_AUTO_TEST_CASE(each_version_of_the_format_is_read) {
  for (const char version : {'\1', '\2', '\3'}) {
    BOOST_TEST(told(header("|u1", "False", "(2, 3)"), bytes6, version) == "U8 2 3 : 0 1 2 3 4 5");
  }
  BOOST_TEST(told(header("|u1", "False", "(2, 3)"), bytes6, 4) ==
             "unsupported: npy n: version 4.0");
}

BOOST_AUTO_TEST_CASE(column_major_arrays_are_turned) {
  BOOST_TEST(told(header("|u1", "True", "(2, 3)"), bytes6) == "U8 2 3 : 0 2 4 1 3 5");
  BOOST_TEST(told(header("|u1", "True", "(1, 3, 2)"), bytes6) == "U8 1 3 2 : 0 3 1 4 2 5");
  BOOST_TEST(told(header("|u1", "True", "(6,)"), bytes6) == "U8 6 : 0 1 2 3 4 5");
  BOOST_TEST(told(header("|u1", "True", "(0, 3)"), "") == "U8 0 3 :");
  BOOST_TEST(told(header("<i4", "True", "()"), std::string("\5\0\0\0", 4)) == "I32 : 5");
}

BOOST_AUTO_TEST_CASE(each_type_is_read) {
  BOOST_TEST(told(header("<f4", "False", "(1,)"), std::string("\0\0\xc0\x3f", 4)) == "F32 1 : 1.5");
  BOOST_TEST(told(header("<f8", "False", "(1,)"), std::string("\0\0\0\0\0\0\xf8\x3f", 8)) ==
             "F64 1 : 1.5");
  BOOST_TEST(told(header("<i4", "False", "(1,)"), "\xfe\xff\xff\xff") == "I32 1 : -2");
  BOOST_TEST(told(header("<i8", "False", "(1,)"), std::string(8, '\xff')) == "I64 1 : -1");
  BOOST_TEST(told(header("<i2", "False", "(3,)"), bytes6) == "I16 3 :");
}

BOOST_AUTO_TEST_CASE(types_that_are_no_little_endian_numbers_are_named) {
  const auto refused = [](const std::string& descr) {
    return told(header(descr, "False", "(1,)"), "12345678");
  };
  BOOST_TEST(refused(">f8") == "unsupported: npy n: elements of type >f8");
  BOOST_TEST(refused("<c8") == "unsupported: npy n: elements of type <c8");
  BOOST_TEST(refused("|O") == "unsupported: npy n: elements of type |O, objects of Python");
  BOOST_TEST(told("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "12345678") ==
             "unsupported: npy n: elements of type [('a', '<f4')]");
}

BOOST_AUTO_TEST_CASE(a_header_that_numpy_does_not_write_is_refused) {
  const auto refused = [](const std::string& words) {
    BOOST_TEST(told(words, "1") == "malformed: npy n: its header is not what NumPy writes", words);
  };
  refused("  ");
  refused("{");
  refused("{'descr': '|u1'}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x");
  refused("{'descr': '|u1', 'fortran_order': False 'shape': (1,)}");
  refused("{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1)}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1,,)}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': 1}");
  refused("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}");
  refused("{'descr': '|u1, 'fortran_order");
  refused("{'descr': [('a', '<f4'");
  refused(
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}");
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_agree_are_refused) {
  BOOST_TEST(told(header("<f4", "False", "(2,)"), "1234567") ==
             "malformed: npy n: 7 bytes of data, the shape needs 8");
  BOOST_TEST(told(header("<f4", "False", "(2,)"), "123456789") ==
             "malformed: npy n: 9 bytes of data, the shape needs 8");
  BOOST_TEST(told(header("<f4", "False", "(-1,)"), "") == "malformed: npy n: shape overflows");
  BOOST_TEST(told(header("<f4", "False", "(4611686018427387904,)"), "") ==
             "malformed: npy n: shape overflows");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_format_or_cut_off_is_refused) {
  const auto parsed = [](const std::string& file) {
    return told(parse_npy(std::as_bytes(std::span(file)), "n"));
  };
  BOOST_TEST(parsed("\x93NUMPY") == "malformed: npy n: wrong magic");
  BOOST_TEST(parsed("PK\3\4............") == "malformed: npy n: wrong magic");
  BOOST_TEST(parsed(std::string("\x93NUMPY\1\0\x50\0{}", 12)) ==
             "malformed: npy n: a header of 80 bytes in a file of 12");
  BOOST_TEST(parsed(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)) ==
             "malformed: npy n: a header of 4294967295 bytes in a file of 12");
  BOOST_TEST(told(read_npy("no/such")) == "io: open no/such: No such file or directory");
}

BOOST_AUTO_TEST_SUITE_END()
