#include "kernels/format/file.hpp"

#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace perigee::test {

namespace {

using namespace kernels;

result<void> written(const std::string& path, std::string_view content) {
  const auto piece = std::as_bytes(std::span(content));
  return write_aside(path, std::array{piece});
}

std::size_t files_in(const temporary_folder& folder) {
  const std::filesystem::directory_iterator all(folder.file(""));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(file)

BOOST_AUTO_TEST_CASE(a_file_is_replaced_and_nothing_is_left_beside_it) {
  const temporary_folder folder;
  const auto path = folder.write("w", "old");
  BOOST_TEST(bool(check_target(path)));
  BOOST_REQUIRE(written(path, "new"));
  BOOST_TEST(content_of(path) == "new");
  BOOST_TEST(files_in(folder) == 1U);
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_what_it_leads_to_is_replaced) {
  const temporary_folder folder;
  const auto path = folder.write("w", "old");
  std::filesystem::create_symlink("w", folder.file("link"));
  BOOST_REQUIRE(written(folder.file("link"), "new"));
  BOOST_TEST(std::filesystem::is_symlink(folder.file("link")));
  BOOST_TEST(content_of(path) == "new");
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_not_renamed_over) {
  const temporary_folder folder;
  const auto pipe = folder.file("pipe");
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, folder.file(""), std::string("/dev/null")}) {
    const error why{errc::io, "write " + path + ": not a regular file"};
    BOOST_TEST((check_target(path).why() == why));
    BOOST_TEST((written(path, "new").why() == why));
  }
  std::filesystem::create_symlink("nowhere", folder.file("link"));
  BOOST_TEST(written(folder.file("link"), "new").why().what ==
             "write " + folder.file("link") + ": a symbolic link that leads nowhere");
  BOOST_TEST(std::filesystem::is_fifo(pipe));
  BOOST_TEST(std::filesystem::is_symlink(folder.file("link")));
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_is_named_before_anything_is_done) {
  const temporary_folder folder;
  const auto path = folder.file("none/w");
  BOOST_TEST(check_target(path).why().what ==
             "write " + path + ": open " + folder.file("none") + ": No such file or directory");
  const auto below_file = folder.write("w", "") + "/x";
  BOOST_TEST(check_target(below_file).why().what == "write " + below_file + ": Not a directory");
}

BOOST_AUTO_TEST_CASE(nobody_is_waited_for_at_a_pipe) {
  const temporary_folder folder;
  const auto pipe = folder.file("pipe");
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  BOOST_TEST(input_file::open(pipe).why().what == "open " + pipe + ": not a regular file");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
