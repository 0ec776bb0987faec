#include "proto/codec.hpp"

#include "tests/proto/arbitrary.hpp"
#include "tests/proto/surgery.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace perigee::tests {

namespace {

source drawn(std::uint64_t stream) { return {20, purpose::simulation, stream}; }

/// One message of each kind.
std::vector<message> one_of_each(std::uint64_t stream) {
  source r = drawn(stream);
  std::vector<message> all;
  for (std::size_t kind = 0; kind < message_kind_count; ++kind)
    all.push_back(arbitrary_message(r, kind));
  return all;
}

/// Changes some bytes, bits or words of a frame, or its length.
void mutate(source& r, frame_bytes& frame) {
  const auto changes = 1 + r.below(6);
  for (std::uint64_t i = 0; i < changes && !frame.empty(); ++i) {
    std::byte& where = frame[r.below(frame.size())];
    switch (r.below(5)) {
      case 0:
        where = static_cast<std::byte>(r.below(256));
        break;
      case 1:
        where ^= static_cast<std::byte>(1U << r.below(8));
        break;
      case 2:
        where = std::byte{0xff};
        break;
      case 3: {  // a word from elsewhere: pointers that point at the wrong thing
        const auto from = r.below(frame.size() / 8) * 8;
        const auto to = r.below(frame.size() / 8) * 8;
        for (std::size_t b = 0; b < 8; ++b) frame[to + b] = frame[from + b];
        break;
      }
      default:
        frame.resize(r.below(frame.size()) / 8 * 8);
    }
  }
}

error why_not(const auto& outcome) {
  return outcome ? error{errc::stale, "decoded, but should not"} : outcome.why();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(codec)

BOOST_AUTO_TEST_CASE(every_message_comes_back_as_it_was) {
  for (std::size_t kind = 0; kind < message_kind_count; ++kind) {
    source r = drawn(kind);
    for (int i = 0; i < 200; ++i) {
      const message sent = arbitrary_message(r, kind);
      const auto got = decoded(encoded(sent));
      BOOST_REQUIRE_MESSAGE(got, "kind " << kind << ", draw " << i << ": " << why_not(got).what);
      BOOST_REQUIRE_MESSAGE(*got == sent, "kind " << kind << ", draw " << i);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_of_defaults_comes_back_as_it_was) {
  for (const message& sent : {message{progress{}}, message{job_record{}}, message{proposal{}},
                              message{peer_record{}}, message{status_report{}}}) {
    const auto got = decoded(encoded(sent));
    BOOST_REQUIRE(got);
    BOOST_TEST((*got == sent), text(sent));
  }
}

BOOST_AUTO_TEST_CASE(a_message_of_many_parts_comes_back_as_it_was) {
  source r = drawn(99);
  auto report = arbitrary<status_report>(r);
  report.neighbours.clear();
  for (int i = 0; i < 1000; ++i) report.neighbours.push_back(arbitrary<neighbour>(r));
  report.jobs.front().last.states.resize(1000);
  report.jobs.resize(codec_limits::jobs_max, report.jobs.front());
  const auto got = decoded(encoded(message{report}));
  BOOST_REQUIRE_MESSAGE(got, why_not(got).what);
  BOOST_TEST((*got == message{report}));
}

BOOST_AUTO_TEST_CASE(a_frame_may_lie_at_any_address) {
  source r = drawn(100);
  const message sent = arbitrary_message(r, 14);
  const auto frame = encoded(sent);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    frame_bytes moved(shift + frame.size());
    std::copy(frame.begin(), frame.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto got = decoded(std::span{moved}.subspan(shift));
    BOOST_REQUIRE(got);
    BOOST_TEST((*got == sent));
  }
}

BOOST_AUTO_TEST_CASE(no_truncated_message_decodes) {
  for (const message& whole : one_of_each(101)) {
    const auto frame = encoded(whole);
    for (std::size_t size = 0; size < frame.size(); ++size)
      BOOST_REQUIRE_MESSAGE(!decoded(std::span{frame}.first(size)), text(whole) << " to " << size);
  }
}

BOOST_AUTO_TEST_CASE(bytes_behind_a_message_are_refused) {
  auto frame = encoded(message{ping{1}});
  frame.resize(frame.size() + 8);
  BOOST_TEST(why_not(decoded(frame)).what == "frame is longer than its segments");
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_not_whole_words_is_refused) {
  BOOST_TEST(why_not(decoded({})).what == "frame of 0 bytes: not whole words");
  BOOST_TEST(why_not(decoded(frame_bytes(9))).what == "frame of 9 bytes: not whole words");
}

BOOST_AUTO_TEST_CASE(mutated_messages_decode_or_are_refused_by_one_line) {
  source r = drawn(102);
  std::size_t refused = 0;
  for (std::uint64_t round = 0; round < 1000; ++round)
    for (const message& whole : one_of_each(1000 + round)) {
      auto frame = encoded(whole);
      mutate(r, frame);
      const auto got = decoded(frame);
      if (got) {
        BOOST_REQUIRE(decoded(encoded(*got)));
        continue;
      }
      ++refused;
      BOOST_REQUIRE(!got.why().what.empty());
      BOOST_REQUIRE(got.why().what.find('\n') == std::string::npos);
    }
  BOOST_TEST(refused > 2000U);  // of 22,000: the mutations bite
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused) {
  source r = drawn(103);
  for (int i = 0; i < 2000; ++i) {
    frame_bytes garbage(8 * (1 + r.below(40)));
    for (std::byte& b : garbage) b = static_cast<std::byte>(r.below(256));
    BOOST_REQUIRE(!decoded(garbage));
    BOOST_REQUIRE(!decoded_hello(garbage));
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_of_message_is_unsupported) {
  auto frame = encoded(message{ping{1}});
  frame[16] = std::byte{99};  // behind table and root pointer: the tag
  BOOST_TEST((why_not(decoded(frame)) == error{errc::unsupported, "unknown kind of message 99"}));
}

BOOST_AUTO_TEST_CASE(an_unknown_enumerant_is_malformed) {
  progress a;
  progress b;
  b.phase = job_phase::halted;
  auto frame = encoded(message{a});
  frame[first_difference(frame, encoded(message{b}))] = std::byte{77};
  BOOST_TEST((why_not(decoded(frame)) == error{errc::malformed, "unknown phase of a job 77"}));
}

BOOST_AUTO_TEST_CASE(a_list_longer_than_its_limit_is_refused) {
  state_report report;
  report.states.resize(codec_limits::layers_max);
  BOOST_TEST(bool{decoded(encoded(message{report}))});
  report.states.resize(codec_limits::layers_max + 1);
  BOOST_TEST((why_not(decoded(encoded(message{report}))) ==
              error{errc::exhausted, "4097 digests of states; the limit is 4096"}));
}

BOOST_AUTO_TEST_CASE(a_text_longer_than_its_limit_is_refused) {
  peer_record record;
  record.name.assign(codec_limits::name_max, 'x');
  BOOST_TEST(bool{decoded(encoded(message{record}))});
  record.name += 'x';
  BOOST_TEST((why_not(decoded(encoded(message{record}))) ==
              error{errc::exhausted, "name of a peer of 257 letters; the limit is 256"}));
}

BOOST_AUTO_TEST_CASE(an_overlong_reason_is_cut_by_its_sender) {
  const remark sent{{}, std::string(codec_limits::text_max + 100, 'x')};
  const auto got = decoded(encoded(message{sent}));
  BOOST_REQUIRE(got);
  BOOST_TEST(std::get<remark>(*got).line == std::string(codec_limits::text_max, 'x'));
}

BOOST_AUTO_TEST_CASE(a_small_frame_cannot_claim_a_large_list) {
  // A state report by hand, with a list of empty structs: it costs its sender no bytes.
  const auto frame_claiming = [](std::uint64_t elements) {
    return frame_of_words({std::uint64_t{9} << 32U,       // one segment of nine words
                           pointer(0, 1, 1), 9,           // the envelope, tag state report
                           pointer(0, 3, 2), 0, 0, 0, 0,  // the report; no job
                           std::uint64_t{7} << 32U | 1U,  // composite list of no words
                           elements << 2U});              // its tag: so many structs of none
  };
  const auto modest = decoded(frame_claiming(3));
  BOOST_REQUIRE_MESSAGE(modest, why_not(modest).what);
  BOOST_TEST(std::get<state_report>(*modest).states.size() == 3U);
  BOOST_TEST((why_not(decoded(frame_claiming(4000))).code == errc::malformed));
}

BOOST_AUTO_TEST_CASE(fields_of_a_newer_schema_are_skipped) {
  for (const message& sent : one_of_each(104)) {
    const auto got = decoded(with_extra_pointer(with_extra_word(encoded(sent))));
    BOOST_REQUIRE_MESSAGE(got, text(sent) << ": " << why_not(got).what);
    BOOST_TEST((*got == sent), text(sent));
  }
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_ping_are_pinned) {
  BOOST_TEST(hexadecimal(encoded(message{ping{0x0102}})) ==
             "00000000 04000000 00000000 01000100 01000000 00000000 00000000 01000000 "
             "02010000 00000000 ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
