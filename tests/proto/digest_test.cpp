#include "proto/digest.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <set>
#include <string_view>
#include <vector>

namespace perigee::tests {

namespace {

std::span<const std::byte> bytes_of(std::string_view words) {
  return std::as_bytes(std::span{words.data(), words.size()});
}

std::vector<std::byte> counted_bytes(std::size_t count) {
  std::vector<std::byte> content(count);
  for (std::size_t i = 0; i < count; ++i) content[i] = static_cast<std::byte>(i * 7 + i / 251);
  return content;
}

/// A specification in which every field is away from its default.
specification full_specification() {
  specification s;
  s.model = {model_kind::gpt, {8, 9}, {1, 2}, 64, 4, 2, 32, 0.25};
  s.data = {data_kind::csv, "a/path", "labels", {1, 2}, 10, 100, 0.5, 0.25, 2};
  s.optimizer = {optimizer_kind::adam, 0.1, 0.5, true, 0.01, 0.8, 0.99, 1e-6};
  s.rate = {rate_kind::constant, 5, 0.1};
  s.seed = 3;
  s.steps = 100;
  s.mini_batch = 32;
  s.micro_batch = 4;
  s.slice = 3;
  s.clip_norm = 1;
  s.isa = "avx2";
  s.initial_weights = "weights.safetensors";
  s.initial_content = {5, 6};
  s.run = "second";
  return s;
}

using change = std::function<void(specification&)>;

const std::vector<change> changes_inside = {
    [](auto& s) { s.model.kind = model_kind::mlp; },
    [](auto& s) {
      s.model.hidden = {8, 10};
    },
    [](auto& s) { s.model.hidden = {8}; },
    [](auto& s) {
      s.model.stages = {2, 1};
    },
    [](auto& s) { s.model.width = 65; },
    [](auto& s) { s.model.blocks = 5; },
    [](auto& s) { s.model.heads = 4; },
    [](auto& s) { s.model.context = 33; },
    [](auto& s) { s.model.dropout = 0.125; },
    [](auto& s) { s.data.kind = data_kind::idx; },
    [](auto& s) { s.data.content.high = 2; },
    [](auto& s) { s.data.content.low = 3; },
    [](auto& s) { s.data.validation_count = 11; },
    [](auto& s) { s.data.validation_permille = 101; },
    [](auto& s) { s.data.scale = 0.75; },
    [](auto& s) { s.data.mean = 0.375; },
    [](auto& s) { s.data.deviation = 3; },
    [](auto& s) { s.optimizer.kind = optimizer_kind::adamw; },
    [](auto& s) { s.optimizer.learning_rate = 0.2; },
    [](auto& s) { s.optimizer.momentum = 0.75; },
    [](auto& s) { s.optimizer.nesterov = false; },
    [](auto& s) { s.optimizer.weight_decay = 0.02; },
    [](auto& s) { s.optimizer.beta1 = 0.7; },
    [](auto& s) { s.optimizer.beta2 = 0.9; },
    [](auto& s) { s.optimizer.epsilon = 1e-7; },
    [](auto& s) { s.rate.kind = rate_kind::cosine; },
    [](auto& s) { s.rate.warmup_steps = 6; },
    [](auto& s) { s.rate.floor = 0.2; },
    [](auto& s) { s.seed = 4; },
    [](auto& s) { s.mini_batch = 64; },
    [](auto& s) { s.micro_batch = 8; },
    [](auto& s) { s.slice = 4; },
    [](auto& s) { s.clip_norm = 2; },
    [](auto& s) { s.isa = "sse41"; },
    [](auto& s) { s.initial_content.high = 6; },
    [](auto& s) { s.initial_content.low = 7; },
    [](auto& s) { s.run = "third"; },
};

const std::vector<change> changes_outside = {
    [](auto& s) { s.data.path = "another/path"; },
    [](auto& s) { s.data.labels_path = "other labels"; },
    [](auto& s) { s.initial_weights = "elsewhere.safetensors"; },
    [](auto& s) { s.steps = 200; },
    [](auto& s) { s.model.file = "model.onnx"; },
    [](auto& s) {
      s.model.content = {1, 1};
    },  // of a gpt
};

}  // namespace

BOOST_AUTO_TEST_SUITE(digest)

BOOST_AUTO_TEST_CASE(the_digest_of_nothing_is_the_published_one) {
  BOOST_TEST(text(digest_of({})) == "99aa06d3014798d86001c324468d497f");
}

BOOST_AUTO_TEST_CASE(the_checksum_of_nothing_is_the_published_one) {
  BOOST_TEST(checksum_of({}) == 0x2d06800538d394c2U);
}

BOOST_AUTO_TEST_CASE(one_changed_bit_changes_digest_and_checksum) {
  const auto content = counted_bytes(1000);
  auto changed = content;
  changed[500] ^= std::byte{16};
  BOOST_TEST((digest_of(content) != digest_of(changed)));
  BOOST_TEST(checksum_of(content) != checksum_of(changed));
}

BOOST_AUTO_TEST_CASE(pieces_have_the_digest_of_the_whole) {
  for (const std::size_t size : {0U, 1U, 16U, 17U, 240U, 241U, 1024U, 5000U}) {
    const auto content = counted_bytes(size);
    for (const std::size_t piece : {1U, 7U, 64U, 1000U}) {
      digester streamed;
      for (std::size_t at = 0; at < size; at += piece)
        streamed.add(std::span{content}.subspan(at, std::min(piece, size - at)));
      BOOST_TEST((streamed.value() == digest_of(content)), "size " << size << " by " << piece);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_digester_goes_on_after_its_value_was_asked) {
  digester streamed;
  streamed.add(bytes_of("one "));
  BOOST_TEST((streamed.value() == digest_of(bytes_of("one "))));
  streamed.add({});
  streamed.add(bytes_of("two"));
  BOOST_TEST((streamed.value() == digest_of(bytes_of("one two"))));
}

BOOST_AUTO_TEST_CASE(combined_depends_on_each_part_and_their_order) {
  const digest128 a{1, 2};
  const digest128 b{3, 4};
  const std::set<digest128> all = {combined({}),
                                   combined(std::vector{a}),
                                   combined(std::vector{b}),
                                   combined(std::vector{a, b}),
                                   combined(std::vector{b, a}),
                                   combined(std::vector{digest128{2, 1}, b})};
  BOOST_TEST(all.size() == 6U);
}

BOOST_AUTO_TEST_CASE(every_field_inside_changes_the_job) {
  std::set<job_id> ids = {id_of(full_specification())};
  for (std::size_t i = 0; i < changes_inside.size(); ++i) {
    specification changed = full_specification();
    changes_inside[i](changed);
    BOOST_TEST((changed != full_specification()), "change " << i << " changes nothing");
    BOOST_TEST(ids.insert(id_of(changed)).second, "change " << i << " gives a known job");
  }
}

BOOST_AUTO_TEST_CASE(no_field_outside_changes_the_job) {
  for (std::size_t i = 0; i < changes_outside.size(); ++i) {
    specification changed = full_specification();
    changes_outside[i](changed);
    BOOST_TEST((changed != full_specification()), "change " << i << " changes nothing");
    BOOST_TEST((id_of(changed) == id_of(full_specification())), "change " << i);
  }
}

BOOST_AUTO_TEST_CASE(steps_are_part_of_a_job_whose_rate_depends_on_them) {
  specification a = full_specification();
  a.rate.kind = rate_kind::cosine;
  specification b = a;
  b.steps = 200;
  BOOST_TEST((id_of(a) != id_of(b)));
}

BOOST_AUTO_TEST_CASE(a_model_from_a_file_is_its_content_wherever_it_lies) {
  specification a = full_specification();
  a.model.kind = model_kind::onnx;
  specification b = a;
  b.model.file = "elsewhere.onnx";
  BOOST_TEST((id_of(a) == id_of(b)));
  b.model.content = {1, 1};
  BOOST_TEST((id_of(a) != id_of(b)));
}

BOOST_AUTO_TEST_CASE(a_slice_of_its_default_size_is_the_same_job_as_none_given) {
  specification a = full_specification();
  a.slice = 0;
  specification b = a;
  b.slice = slice_size(a);
  BOOST_TEST((id_of(a) == id_of(b)));
}

BOOST_AUTO_TEST_CASE(both_zeros_are_one_number) {
  specification a = full_specification();
  a.data.mean = 0.0;
  specification b = a;
  b.data.mean = -0.0;
  BOOST_TEST((id_of(a) == id_of(b)));
}

BOOST_AUTO_TEST_CASE(text_in_one_field_cannot_pose_as_another_field) {
  specification a = full_specification();
  a.isa = "x\nrun=1:y";
  specification b = full_specification();
  b.isa = "x";
  BOOST_TEST((id_of(a) != id_of(b)));
}

BOOST_AUTO_TEST_CASE(the_canonical_text_is_pinned) {
  specification s;
  s.model.hidden = {16, 8};
  s.steps = 10;
  s.mini_batch = 8;
  s.micro_batch = 2;
  BOOST_TEST(canonical_text(s) ==
             "perigee job=1\n"
             "model.kind=0\nmodel.hidden=16,8,\nmodel.stages=\nmodel.width=0\nmodel.blocks=0\n"
             "model.heads=0\nmodel.context=0\nmodel.dropout=0000000000000000\n"
             "data.kind=0\ndata.content=00000000000000000000000000000000\n"
             "data.validation_count=0\ndata.validation_permille=0\n"
             "data.scale=3ff0000000000000\ndata.mean=0000000000000000\n"
             "data.deviation=3ff0000000000000\n"
             "optimizer.kind=0\noptimizer.learning_rate=3f847ae147ae147b\n"
             "optimizer.momentum=0000000000000000\noptimizer.nesterov=0\n"
             "optimizer.weight_decay=0000000000000000\noptimizer.beta1=3feccccccccccccd\n"
             "optimizer.beta2=3feff7ced916872b\noptimizer.epsilon=3e45798ee2308c3a\n"
             "rate.kind=0\nrate.warmup_steps=0\nrate.floor=0000000000000000\n"
             "seed=1\nmini_batch=8\nmicro_batch=2\nslice=1\nclip_norm=0000000000000000\n"
             "isa=0:\ninitial_content=00000000000000000000000000000000\nrun=0:\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
