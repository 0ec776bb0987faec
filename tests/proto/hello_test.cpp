#include "proto/codec.hpp"
#include "tests/proto/arbitrary.hpp"
#include "tests/proto/surgery.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace perigee::tests {

namespace {

source drawn(std::uint64_t stream) { return {21, purpose::simulation, stream}; }

error why_not(const auto& outcome) {
  return outcome ? error{errc::stale, "decoded, but should not"} : outcome.why();
}

chunk_header small_chunk() {
  return {job_id{{1, 2}}, 3, {tensor_kind::gradient, 4, 5, 6}, {100}, 60, 40, 7};
}

frame_bytes frame_of(const chunk_header& header) {
  const auto all = encoded(header);
  return {all.view().begin(), all.view().end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hello)

BOOST_AUTO_TEST_CASE(every_greeting_comes_back_as_it_was) {
  source r = drawn(0);
  for (int i = 0; i < 500; ++i) {
    const auto sent = arbitrary<perigee::hello>(r);
    const auto got = decoded_hello(encoded(sent));
    BOOST_REQUIRE(got);
    BOOST_REQUIRE(*got == sent);
  }
}

BOOST_AUTO_TEST_CASE(the_longest_greeting_fits_its_limit_and_a_longer_name_is_cut) {
  perigee::hello sent;
  sent.name.assign(codec_limits::name_max + 50, 'x');
  const auto frame = encoded(sent);
  BOOST_TEST(frame.size() <= codec_limits::hello_max);
  const auto got = decoded_hello(frame);
  BOOST_REQUIRE(got);
  BOOST_TEST(got->name == std::string(codec_limits::name_max, 'x'));
}

BOOST_AUTO_TEST_CASE(what_lacks_our_magic_is_no_greeting) {
  auto frame = encoded(perigee::hello{});
  BOOST_TEST(hexadecimal(std::span{frame}.subspan(16, 8)) == "70657269 67656531 ");  // perigee1
  frame[16] = std::byte{'P'};
  BOOST_TEST(
      (why_not(decoded_hello(frame)) == error{errc::malformed, "greeting is not one of perigee"}));
}

BOOST_AUTO_TEST_CASE(a_credit_is_no_greeting) {
  BOOST_TEST((why_not(decoded_hello(encoded(credit{5}))).code == errc::malformed));
}

BOOST_AUTO_TEST_CASE(unknown_roles_and_channels_are_malformed) {
  perigee::hello plain;
  perigee::hello client;
  client.role = hello_role::client;
  perigee::hello bulk;
  bulk.channel = hello_channel::bulk;
  auto frame = encoded(plain);
  frame[first_difference(frame, encoded(client))] = std::byte{9};
  BOOST_TEST((why_not(decoded_hello(frame)) == error{errc::malformed, "unknown role 9"}));
  frame = encoded(plain);
  frame[first_difference(frame, encoded(bulk))] = std::byte{9};
  BOOST_TEST((why_not(decoded_hello(frame)) == error{errc::malformed, "unknown channel 9"}));
}

BOOST_AUTO_TEST_CASE(the_highest_common_version_holds) {
  perigee::hello ours;
  perigee::hello theirs;
  ours.version_min = 2, ours.version_max = 5;
  theirs.version_min = 3, theirs.version_max = 9;
  BOOST_TEST(*agreed_version(ours, theirs) == 5U);
  BOOST_TEST(*agreed_version(theirs, ours) == 5U);
}

BOOST_AUTO_TEST_CASE(without_a_common_version_both_ranges_are_named) {
  perigee::hello ours;
  perigee::hello theirs;
  theirs.version_min = 2, theirs.version_max = 3;
  BOOST_TEST(
      (why_not(agreed_version(ours, theirs)) ==
       error{errc::unsupported, "no common version: we speak 1 to 1, the other side 2 to 3"}));
}

BOOST_AUTO_TEST_CASE(every_chunk_header_comes_back_as_it_was) {
  source r = drawn(1);
  for (int i = 0; i < 2000; ++i) {
    const auto sent = arbitrary_chunk_header(r);
    const auto got = decoded_chunk_header(encoded(sent).view());
    BOOST_REQUIRE(got);
    BOOST_REQUIRE(*got == sent);
  }
}

BOOST_AUTO_TEST_CASE(a_chunk_header_has_one_size_within_its_limit) {
  source r = drawn(2);
  for (int i = 0; i < 100; ++i) BOOST_REQUIRE(encoded(arbitrary_chunk_header(r)).size == 88U);
  BOOST_TEST(codec_limits::chunk_header_max >= 88U);
}

BOOST_AUTO_TEST_CASE(a_chunk_beyond_its_tensor_is_malformed) {
  const error beyond{errc::malformed, "chunk reaches beyond its tensor"};
  auto header = small_chunk();
  header.length = 41;
  BOOST_TEST((why_not(decoded_chunk_header(encoded(header).view())) == beyond));
  header.offset = 101;
  header.length = 0;
  BOOST_TEST((why_not(decoded_chunk_header(encoded(header).view())) == beyond));
  header.offset = ~0ULL;  // offset + length overflows
  header.length = 40;
  BOOST_TEST((why_not(decoded_chunk_header(encoded(header).view())) == beyond));
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_of_tensor_is_malformed) {
  auto other = small_chunk();
  other.what.kind = tensor_kind::state;
  auto frame = frame_of(small_chunk());
  frame[first_difference(frame, frame_of(other))] = std::byte{9};
  BOOST_TEST(
      (why_not(decoded_chunk_header(frame)) == error{errc::malformed, "unknown kind of tensor 9"}));
}

BOOST_AUTO_TEST_CASE(no_truncated_chunk_header_decodes) {
  const auto frame = frame_of(small_chunk());
  for (std::size_t size = 0; size < frame.size(); ++size)
    BOOST_TEST(!decoded_chunk_header(std::span{frame}.first(size)));
}

BOOST_AUTO_TEST_CASE(mutated_greetings_headers_and_credits_never_crash) {
  source r = drawn(3);
  for (int i = 0; i < 20'000; ++i) {
    frame_bytes frame = i % 3 == 0   ? encoded(arbitrary<perigee::hello>(r))
                        : i % 3 == 1 ? frame_of(arbitrary_chunk_header(r))
                                     : encoded(credit{r.word64()});
    for (int change = 0; change < 3; ++change)
      frame[r.below(frame.size())] = static_cast<std::byte>(r.below(256));
    (void)decoded_hello(frame);
    (void)decoded_credit(frame);
    const auto header = decoded_chunk_header(frame);
    if (header) BOOST_REQUIRE(header->length <= header->size.count - header->offset);
  }
}

BOOST_AUTO_TEST_CASE(every_credit_comes_back_as_it_was_within_its_limit) {
  for (const std::uint64_t amount :
       {std::uint64_t{0}, std::uint64_t{1} << 20U, ~std::uint64_t{0}}) {
    const auto frame = encoded(credit{amount});
    BOOST_TEST(frame.size() <= codec_limits::credit_max);
    const auto got = decoded_credit(frame);
    BOOST_REQUIRE(got);
    BOOST_TEST(got->bytes == amount);
  }
}

BOOST_AUTO_TEST_CASE(fields_of_a_newer_schema_are_skipped) {
  const auto header = decoded_chunk_header(with_extra_word(frame_of(small_chunk())));
  BOOST_REQUIRE(header);
  BOOST_TEST((*header == small_chunk()));
  perigee::hello sent;
  sent.name = "one";
  const auto got = decoded_hello(with_extra_pointer(with_extra_word(encoded(sent))));
  BOOST_REQUIRE(got);
  BOOST_TEST((*got == sent));
}

BOOST_AUTO_TEST_CASE(fields_that_an_older_schema_lacks_have_their_defaults) {
  auto expected = small_chunk();
  expected.checksum = 0;  // the last word
  const auto header = decoded_chunk_header(with_a_word_less(frame_of(small_chunk())));
  BOOST_REQUIRE(header);
  BOOST_TEST((*header == expected));
  const auto got = decoded_credit(with_a_word_less(encoded(credit{5})));
  BOOST_REQUIRE(got);
  BOOST_TEST(got->bytes == 0U);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_chunk_header_are_pinned) {
  BOOST_TEST(hexadecimal(frame_of(small_chunk())) ==
             "00000000 0a000000 00000000 09000000 01000000 00000000 02000000 00000000 "
             "03000000 00000000 04000000 00000000 02000000 05000000 06000000 28000000 "
             "64000000 00000000 3c000000 00000000 07000000 00000000 ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
