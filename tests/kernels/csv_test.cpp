#include "kernels/format/csv.hpp"

#include "kernels/format/gzip.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>

BOOST_AUTO_TEST_SUITE(csv)

using namespace perigee::kernels;

namespace {

/// Returns each row as `features > label`, or the error.
std::string told(const std::string& content) {
  const auto table = parse_csv(content, "c");
  if (!table) return std::string(text(table.why().code)) + ": " + table.why().what;
  std::ostringstream words;
  std::size_t at = 0;
  for (const auto label : table->labels) {
    for (int i = 0; i < table->features; ++i) words << table->values[at++] << " ";
    words << "> " << label << "\n";
  }
  return words.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_digits_are_read) {
  const auto file = read_unzipped("../shared/data/digits/digits.csv.gz");
  const auto table =
      parse_csv({reinterpret_cast<const char*>(file->data()), file->size()}, "digits");
  BOOST_TEST(table->labels.size() == 1797U);
  BOOST_TEST(table->features == 64);
  BOOST_TEST(table->values[64 + 3] == 12);  // line 2: 0,0,0,12,13,5
  double sum = 0;
  for (const float value : table->values) sum += value;
  BOOST_TEST(sum == 561718);
  BOOST_TEST(std::count(table->labels.begin(), table->labels.end(), 3) == 183);
}

BOOST_AUTO_TEST_CASE(rows_need_no_heading) {
  BOOST_TEST(told("1,2.5,0\n-3,4e2,1\n") == "1 2.5 > 0\n-3 400 > 1\n");
  BOOST_TEST(told("1,2,0\r\n3,4,1") == "1 2 > 0\n3 4 > 1\n");
  BOOST_TEST(told(" 1 ,\t2, 7 \n\n\n") == "1 2 > 7\n");
  BOOST_TEST(told("\xef\xbb\xbf"
                  "1,2\n") == "1 > 2\n");
}

BOOST_AUTO_TEST_CASE(a_first_line_without_a_number_is_a_heading) {
  BOOST_TEST(told("width,height,class\n1,2,0\n") == "1 2 > 0\n");
}

BOOST_AUTO_TEST_CASE(a_heading_of_scikit_learn_promises_its_rows) {
  BOOST_TEST(told("2,2,rose,lily\n1,2,0\n3,4,1\n") == "1 2 > 0\n3 4 > 1\n");
  BOOST_TEST(told("2,2\n1,2,0\n3,4,1\n") == "1 2 > 0\n3 4 > 1\n");
  BOOST_TEST(told("3,2,rose,lily\n1,2,0\n3,4,1\n") ==
             "malformed: csv c: 2 rows; its first line says 3");
}

BOOST_AUTO_TEST_CASE(a_number_in_the_first_line_makes_it_a_row) {
  BOOST_TEST(told("1,x,3\n1,2,0\n") == "malformed: csv c: line 1 column 2: x is no finite number");
}

BOOST_AUTO_TEST_CASE(a_ragged_line_is_named) {
  BOOST_TEST(told("1,2,0\n3,4\n") ==
             "malformed: csv c: line 2: 2 columns; the lines before have 3");
  BOOST_TEST(told("a,b,c\n1,2,0\n3,4,5,0\n") ==
             "malformed: csv c: line 3: 4 columns; the lines before have 3");
  BOOST_TEST(told("1,2,0\n\n3,4,0\n") ==
             "malformed: csv c: line 2: 1 columns; the lines before have 3");
}

BOOST_AUTO_TEST_CASE(what_is_no_finite_number_is_named) {
  const auto refused = [](const std::string& field) {
    BOOST_TEST(told("1,2,0\n1," + field + ",0\n") ==
               "malformed: csv c: line 2 column 2: " + field + " is no finite number");
  };
  refused("");
  refused("x");
  refused("1x");
  refused("nan");
  refused("-inf");
  refused("1e39");
  refused("1 2");
  refused("0x10");
}

BOOST_AUTO_TEST_CASE(a_label_out_of_range_is_named) {
  const auto refused = [](const std::string& field) {
    BOOST_TEST(told("1,2,0\n1,2," + field + "\n") == "malformed: csv c: line 2 column 3: label " +
                                                         field +
                                                         " is no whole number from 0 to 65535");
  };
  refused("");
  refused("-1");
  refused("65536");
  refused("1.5");
  refused("nan");
  refused("rose");
  BOOST_TEST(told("1,65535\n1,2.0\n") == "1 > 65535\n1 > 2\n");
}

BOOST_AUTO_TEST_CASE(a_table_needs_rows_and_two_columns) {
  BOOST_TEST(told("") == "malformed: csv c: no rows");
  BOOST_TEST(told("a,b\n") == "malformed: csv c: no rows");
  BOOST_TEST(told("1\n2\n") ==
             "malformed: csv c: line 1: one column; a feature and a label are needed");
}

BOOST_AUTO_TEST_SUITE_END()
