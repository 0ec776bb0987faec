#include "actors/cli/job_file.hpp"

#include "actors/cli/job_fields.hpp"
#include "proto/base/random.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <set>
#include <string>

namespace perigee::actors::tests {

namespace {

const std::string gpt_job =
    "steps = 10\n"
    "mini_batch = 16\n"
    "micro_batch = 2\n"
    "[model]\n"
    "kind = \"gpt\"\n"
    "blocks = 2\n"
    "width = 32\n"
    "heads = 4\n"
    "context = 8\n"
    "[data]\n"
    "kind = \"text\"\n"
    "path = \"input.txt\"\n";

const std::string mlp_job =
    "steps = 10\n"
    "mini_batch = 16\n"
    "micro_batch = 2\n"
    "[model]\n"
    "kind = \"mlp\"\n"
    "hidden = [8]\n"
    "[data]\n"
    "kind = \"csv\"\n"
    "path = \"digits.csv.gz\"\n";

/// Returns `text` with the first `from` replaced, which must be there.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << from);
  return text.replace(at, from.size(), to);
}

/// Returns why a job is refused; its file is called job.toml.
std::string refusal(const std::string& text) {
  const auto job = job_from(text, {});
  if (job) return "accepted";
  BOOST_TEST((job.why().code == errc::malformed));
  return job.why().what;
}

job_file accepted(const std::string& text, const job_origin& origin = {}) {
  auto job = job_from(text, origin);
  BOOST_REQUIRE_MESSAGE(job, refusal(text));
  return *job;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(job_file)

BOOST_AUTO_TEST_CASE(every_field_of_a_gpt_reaches_its_place) {
  const auto job = accepted(
      "name = \"first\"\nseed = 3\nsteps = 10\nmini_batch = 16\nmicro_batch = 2\nslice = 4\n"
      "clip_norm = 1\nisa = \"avx2\"\nrun = \"again\"\ninitial_weights = \"w.safetensors\"\n"
      "[model]\nkind = \"gpt\"\nblocks = 2\nwidth = 32\nheads = 4\ncontext = 8\ndropout = 0.1\n"
      "[data]\nkind = \"text\"\npath = \"input.txt\"\nvalidation = 0.125\n"
      "[optimizer]\nkind = \"adamw\"\nlearning_rate = 0.001\nweight_decay = 0.1\nbeta1 = 0.8\n"
      "beta2 = 0.99\nepsilon = 1e-6\n"
      "[rate]\nkind = \"cosine\"\nwarmup_steps = 5\nfloor = 0.1\n"
      "[plan]\nstages = 2\nreplicas = [2, 1]\nshares = [1, 1, 2]\norder = [\"p3\", 1, "
      "\"p00000000000f4240\"]\nschedule = \"gpipe\"\n",
      {"job.toml", "/jobs"});
  perigee::actors::job_file expected;
  auto& s = expected.spec;
  s.seed = 3;
  s.steps = 10;
  s.mini_batch = 16;
  s.micro_batch = 2;
  s.slice = 4;
  s.clip_norm = 1;
  s.isa = "avx2";
  s.run = "again";
  s.initial_weights = "/jobs/w.safetensors";
  s.model = {model_kind::gpt, {}, {}, 32, 2, 4, 8, 0.1};
  s.data.path = "/jobs/input.txt";
  s.data.validation_permille = 125;
  s.optimizer = {optimizer_kind::adamw, 0.001, 0, false, 0.1, 0.8, 0.99, 1e-6};
  s.rate = {rate_kind::cosine, 5, 0.1};
  expected.wanted = {"first", 2, {2, 1}, {1, 1, 2}, {{3}, {1}, {1'000'000}}, schedule_kind::gpipe};
  BOOST_TEST((job == expected));
}

BOOST_AUTO_TEST_CASE(every_field_of_a_resnet_reaches_its_place) {
  const auto job = accepted(
      "steps = 10\nmini_batch = 16\nmicro_batch = 2\n"
      "[model]\nkind = \"resnet\"\nstages = [1, 2]\nwidth = 8\n"
      "[data]\nkind = \"idx\"\npath = \"/d/images.gz\"\nlabels = \"../labels.gz\"\n"
      "validation_count = 7\nscale = 0.5\nmean = -1\ndeviation = 0.25\n"
      "[optimizer]\nkind = \"sgd\"\nmomentum = 0.9\nnesterov = true\n"
      "[plan]\nstages = 3\nreplicas = 2\n",
      {"job.toml", "/jobs/today"});
  const auto& s = job.spec;
  BOOST_TEST((s.model == model_spec{model_kind::resnet, {}, {1, 2}, 8, 0, 0, 0, 0}));
  BOOST_TEST(
      (s.data ==
       data_spec{data_kind::idx, "/d/images.gz", "/jobs/labels.gz", {}, 7, 0, 0.5, -1, 0.25}));
  BOOST_TEST(s.optimizer.momentum == 0.9);
  BOOST_TEST(s.optimizer.nesterov);
  BOOST_TEST((job.wanted.replicas == std::vector<std::uint32_t>{2}));
}

BOOST_AUTO_TEST_CASE(a_model_of_ones_own_needs_its_file_alone) {
  const std::string rest = "[data]\nkind = \"cifar10\"\npath = \"train.bin\"\n";
  const std::string top = "steps = 10\nmini_batch = 16\nmicro_batch = 2\n";
  const auto job = accepted(top + "[model]\nonnx = \"m.onnx\"\n" + rest, {"job.toml", "/jobs"});
  BOOST_TEST((job.spec.model.kind == model_kind::onnx));
  BOOST_TEST(job.spec.model.file == "/jobs/m.onnx");
  BOOST_TEST((job.spec.data.kind == data_kind::cifar10));
  BOOST_TEST((accepted(top + "[model]\nkind = \"onnx\"\nonnx = \"/jobs/m.onnx\"\n" + rest,
                       {"job.toml", "/jobs"}) == job));
  BOOST_TEST(refusal(top + "[model]\nkind = \"mlp\"\nhidden = [8]\nonnx = \"m.onnx\"\n" + rest) ==
             "job.toml:7:8: field 'onnx' in [model] is of no use to mlp");
  BOOST_TEST(refusal(top + "[model]\nkind = \"onnx\"\n" + rest).find("missing field 'onnx'") !=
             std::string::npos);
  BOOST_TEST(refusal(top + "[model]\nonnx = \"m.onnx\"\nwidth = 8\n" + rest) ==
             "job.toml:6:9: field 'width' in [model] is of no use to onnx");
}

BOOST_AUTO_TEST_CASE(what_a_short_job_leaves_out_has_the_defaults_of_a_specification) {
  const auto job = accepted(mlp_job);
  specification expected;
  expected.steps = 10;
  expected.mini_batch = 16;
  expected.micro_batch = 2;
  expected.model.hidden = {8};
  expected.data.kind = data_kind::csv;
  expected.data.path = "digits.csv.gz";
  BOOST_TEST((job.spec == expected));
  BOOST_TEST((job.wanted == wishes{}));
}

BOOST_AUTO_TEST_CASE(an_unknown_field_is_refused_with_the_nearest_name) {
  BOOST_TEST(refusal(gpt_job + "[optimizer]\n  learning_rat = 0.1\n") ==
             "job.toml:14:3: unknown field 'learning_rat' in [optimizer]; did you mean "
             "'learning_rate'?");
  BOOST_TEST(refusal("sede = 1\n" + gpt_job) ==
             "job.toml:1:1: unknown field 'sede'; did you mean 'seed'?");
}

BOOST_AUTO_TEST_CASE(a_field_in_the_wrong_section_is_sent_to_its_own) {
  BOOST_TEST(refusal("momentum = 0.9\n" + gpt_job) ==
             "job.toml:1:1: unknown field 'momentum'; it belongs in [optimizer]");
  BOOST_TEST(refusal(gpt_job + "micro_batch = 2\n") ==
             "job.toml:13:1: unknown field 'micro_batch' in [data]; it belongs at the top, before "
             "any section");
}

BOOST_AUTO_TEST_CASE(an_unknown_field_like_no_other_points_at_the_help) {
  BOOST_TEST(refusal("frobnicate = 1\n" + gpt_job) ==
             "job.toml:1:1: unknown field 'frobnicate'; `perigee help job` lists all");
}

BOOST_AUTO_TEST_CASE(an_unknown_section_is_refused_with_the_nearest_name) {
  BOOST_TEST(refusal(gpt_job + "[optimiser]\nkind = \"sgd\"\n") ==
             "job.toml:13:2: unknown section [optimiser]; did you mean [optimizer]?");
  BOOST_TEST(refusal(gpt_job + "[quux]\n") ==
             "job.toml:13:2: unknown section [quux]; `perigee help job` lists all");
}

BOOST_AUTO_TEST_CASE(a_section_given_as_a_value_is_refused) {
  BOOST_TEST(refusal("rate = 3\n" + gpt_job) ==
             "job.toml:1:8: 'rate' is a section: write [rate] and its fields below");
}

BOOST_AUTO_TEST_CASE(a_wrong_type_is_refused_with_what_was_expected) {
  BOOST_TEST(refusal(with(gpt_job, "steps = 10", "steps = \"ten\"")) ==
             "job.toml:1:9: field 'steps' must be a whole number from 1, not the text \"ten\"");
  BOOST_TEST(refusal(with(gpt_job, "steps = 10", "steps = 1.5")) ==
             "job.toml:1:9: field 'steps' must be a whole number from 1, not 1.5");
  BOOST_TEST(refusal("clip_norm = true\n" + gpt_job) ==
             "job.toml:1:13: field 'clip_norm' must be a number from 0, not true");
  BOOST_TEST(
      refusal("name = 2026-01-01\n" + gpt_job) ==
      "job.toml:1:8: field 'name' must be a text of at most 256 letters, not a date or time");
  BOOST_TEST(refusal(with(gpt_job, "\"input.txt\"", "[1]")) ==
             "job.toml:12:8: field 'path' in [data] must be a path, not a list");
  BOOST_TEST(refusal(mlp_job + "[optimizer]\nnesterov = 1\n") ==
             "job.toml:11:12: field 'nesterov' in [optimizer] must be true or false, not 1");
  BOOST_TEST(refusal(with(mlp_job, "[8]", "8")) ==
             "job.toml:6:10: field 'hidden' in [model] must be a list of whole numbers from 1 to "
             "65536, not 8");
  BOOST_TEST(refusal(gpt_job + "[plan]\nreplicas = \"2\"\n") ==
             "job.toml:14:12: field 'replicas' in [plan] must be a whole number from 1 to 4096, or "
             "a list of them, not the text \"2\"");
  BOOST_TEST(refusal(gpt_job + "[plan]\norder = \"p1\"\n") ==
             "job.toml:14:9: field 'order' in [plan] must be a list of peers by id, as \"p2\" or "
             "2, not the text \"p1\"");
  BOOST_TEST(refusal(gpt_job + "[seed]\n") ==
             "job.toml:13:1: field 'seed' must be a whole number from 0, not a section");
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_is_refused_with_the_range) {
  BOOST_TEST(refusal(with(gpt_job, "steps = 10", "steps = 0")) ==
             "job.toml:1:9: field 'steps' must be a whole number from 1, not 0");
  BOOST_TEST(refusal("seed = -1\n" + gpt_job) ==
             "job.toml:1:8: field 'seed' must be a whole number from 0, not -1");
  BOOST_TEST(refusal(with(gpt_job, "width = 32", "width = 70000")) ==
             "job.toml:7:9: field 'width' in [model] must be a whole number from 1 to 65536, not "
             "70000");
  BOOST_TEST(
      refusal(with(gpt_job, "context = 8", "context = 8\ndropout = 1.0")) ==
      "job.toml:10:11: field 'dropout' in [model] must be a number from 0 to below 1, not 1");
  BOOST_TEST(refusal(gpt_job + "[rate]\nkind = \"cosine\"\nfloor = 1.5\n") ==
             "job.toml:15:9: field 'floor' in [rate] must be a number from 0 to 1, not 1.5");
  BOOST_TEST(refusal(with(mlp_job, "[8]", "[8, 0]")) ==
             "job.toml:6:14: field 'hidden' in [model] must be a list of whole numbers from 1 to "
             "65536, not 0");
  BOOST_TEST(refusal(gpt_job + "[plan]\norder = [\"p1\", \"q2\"]\n") ==
             "job.toml:14:16: field 'order' in [plan] must be a list of peers by id, as \"p2\" or "
             "2, not the text \"q2\"");
  for (const std::string wrong : {"0", "-1", "\"p\"", "\"p0\"", "\"p1x\"", "\"\"", "1.5"})
    BOOST_TEST(
        refusal(gpt_job + "[plan]\norder = [" + wrong + "]\n").find("must be a list of peers") !=
        std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_learning_rate_must_be_finite_and_above_zero) {
  const auto refused = [](const std::string& rate) {
    return refusal(gpt_job + "[optimizer]\nlearning_rate = " + rate + "\n");
  };
  const std::string start =
      "job.toml:14:17: field 'learning_rate' in [optimizer] must be a number above 0, not ";
  BOOST_TEST(refused("0") == start + "0");
  BOOST_TEST(refused("-0.1") == start + "-0.1");
  BOOST_TEST(refused("inf") == start + "inf");
  BOOST_TEST(refused("nan") == start + "nan");
}

BOOST_AUTO_TEST_CASE(an_unknown_choice_is_refused_with_all_of_them) {
  BOOST_TEST(refusal(with(gpt_job, "\"gpt\"", "\"lstm\"")) ==
             "job.toml:5:8: field 'kind' in [model] must be \"mlp\", \"resnet\", \"gpt\" or "
             "\"onnx\", not the "
             "text \"lstm\"");
  BOOST_TEST(refusal(gpt_job + "[plan]\nschedule = \"zero\"\n") ==
             "job.toml:14:12: field 'schedule' in [plan] must be \"gpipe\" or \"1f1b\", not the "
             "text \"zero\"");
  BOOST_TEST(refusal("isa = \"mmx\"\n" + gpt_job) ==
             "job.toml:1:7: field 'isa' must be \"sse41\", \"avx\", \"avx2\" or \"avx512_core\", "
             "not the text \"mmx\"");
}

BOOST_AUTO_TEST_CASE(a_list_of_the_wrong_size_is_refused) {
  BOOST_TEST(
      refusal("steps = 10\nmini_batch = 16\nmicro_batch = 2\n[model]\nkind = "
              "\"resnet\"\nwidth = 8\nstages = []\n[data]\nkind = \"csv\"\npath = \"x\"\n") ==
      "job.toml:7:10: field 'stages' in [model] must have 1 to 1024 entries, not 0");
}

BOOST_AUTO_TEST_CASE(texts_and_paths_have_their_limits) {
  BOOST_TEST(refusal("name = \"" + std::string(257, 'x') + "\"\n" + gpt_job) ==
             "job.toml:1:8: field 'name' has 257 letters; at most 256 are possible");
  BOOST_TEST(refusal(with(gpt_job, "input.txt", "")) ==
             "job.toml:12:8: field 'path' in [data] is empty");
}

BOOST_AUTO_TEST_CASE(a_validation_share_comes_in_thousandths) {
  BOOST_TEST(accepted(gpt_job + "validation = 0.999\n").spec.data.validation_permille == 999U);
  BOOST_TEST(accepted(gpt_job + "validation = 0\n").spec.data.validation_permille == 0U);
  BOOST_TEST(refusal(gpt_job + "validation = 0.0005\n") ==
             "job.toml:13:14: field 'validation' in [data] must be in steps of 0.001, not 0.0005");
}

BOOST_AUTO_TEST_CASE(every_required_field_is_missed_with_an_example) {
  BOOST_TEST(refusal(with(gpt_job, "steps = 10\n", "")) ==
             "job.toml:1:1: missing field 'steps'; for example: steps = 300");
  BOOST_TEST(refusal(with(gpt_job, "mini_batch = 16\n", "")) ==
             "job.toml:1:1: missing field 'mini_batch'; for example: mini_batch = 16");
  BOOST_TEST(refusal(with(gpt_job, "micro_batch = 2\n", "")) ==
             "job.toml:1:1: missing field 'micro_batch'; for example: micro_batch = 2");
  BOOST_TEST(refusal(with(gpt_job, "kind = \"gpt\"\n", "")) ==
             "job.toml:4:1: missing field 'kind' in [model]; for example: kind = \"gpt\"");
  BOOST_TEST(refusal(with(gpt_job, "heads = 4\n", "")) ==
             "job.toml:4:1: missing field 'heads' in [model]; for example: heads = 4");
  BOOST_TEST(refusal(with(gpt_job, "path = \"input.txt\"\n", "")) ==
             "job.toml:10:1: missing field 'path' in [data]; for example: path = \"input.txt\"");
  BOOST_TEST(refusal(with(mlp_job, "hidden = [8]\n", "")) ==
             "job.toml:4:1: missing field 'hidden' in [model]; for example: hidden = [64, 64]");
  BOOST_TEST(refusal(with(mlp_job, "\"csv\"", "\"idx\"")) ==
             "job.toml:7:1: missing field 'labels' in [data]; for example: labels = "
             "\"labels-idx1-ubyte.gz\"");
}

BOOST_AUTO_TEST_CASE(a_missing_section_is_missed_at_the_start_of_the_file) {
  BOOST_TEST(refusal("steps = 10\nmini_batch = 16\nmicro_batch = 2\n") ==
             "job.toml:1:1: missing field 'kind' in [model]; for example: kind = \"gpt\"");
  BOOST_TEST(refusal("") == "job.toml:1:1: missing field 'steps'; for example: steps = 300");
}

BOOST_AUTO_TEST_CASE(a_field_of_another_kind_is_refused) {
  BOOST_TEST(refusal(with(mlp_job, "hidden = [8]", "hidden = [8]\nheads = 4")) ==
             "job.toml:7:9: field 'heads' in [model] is of no use to mlp");
  BOOST_TEST(refusal(gpt_job + "scale = 2\n") ==
             "job.toml:13:9: field 'scale' in [data] is of no use to text");
  BOOST_TEST(refusal(gpt_job + "[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n") ==
             "job.toml:15:12: field 'momentum' in [optimizer] is of no use to adam");
  BOOST_TEST(refusal(gpt_job + "[rate]\nfloor = 0.1\n") ==
             "job.toml:14:9: field 'floor' in [rate] is of no use to constant");
}

BOOST_AUTO_TEST_CASE(batches_and_slices_must_fit_one_another) {
  BOOST_TEST(refusal(with(gpt_job, "micro_batch = 2", "micro_batch = 3")) ==
             "job.toml:3:15: micro_batch = 3 does not divide mini_batch = 16");
  BOOST_TEST(refusal("slice = 9\n" + gpt_job) ==
             "job.toml:1:9: slice = 9 is more than the 8 micro-batches of a mini-batch");
  BOOST_TEST(refusal(with(with(gpt_job, "mini_batch = 16", "mini_batch = 1000000"),
                          "micro_batch = 2", "micro_batch = 1")) ==
             "job.toml:3:15: a mini-batch of 1000000 micro-batches; at most 65536 are possible");
}

BOOST_AUTO_TEST_CASE(model_data_and_optimizer_must_fit_one_another) {
  BOOST_TEST(refusal(with(gpt_job, "heads = 4", "heads = 5")) ==
             "job.toml:8:9: heads = 5 does not divide width = 32");
  BOOST_TEST(refusal(with(gpt_job, "\"text\"", "\"csv\"")) ==
             "job.toml:11:8: a gpt learns from text, not from images");
  BOOST_TEST(refusal(with(mlp_job, "\"csv\"", "\"text\"")) ==
             "job.toml:8:8: only a gpt learns from text");
  BOOST_TEST(refusal(mlp_job + "[optimizer]\nnesterov = true\n") ==
             "job.toml:11:12: nesterov needs a momentum above 0");
}

BOOST_AUTO_TEST_CASE(replicas_must_fit_stages_and_slices) {
  BOOST_TEST(refusal(gpt_job + "[plan]\nreplicas = [1, 2]\n") ==
             "job.toml:14:12: replicas of 2 stages need stages = 2");
  BOOST_TEST(refusal(gpt_job + "[plan]\nstages = 3\nreplicas = [1, 2]\n") ==
             "job.toml:15:12: replicas of 2 stages, but stages = 3");
  BOOST_TEST(refusal(gpt_job + "[plan]\nreplicas = 5\n") ==
             "job.toml:14:12: 5 replicas need a slice each, but a mini-batch has 4 slices");
}

BOOST_AUTO_TEST_CASE(shares_must_make_all_slices_of_each_stage) {
  const auto plan = gpt_job + "[plan]\nstages = 2\nreplicas = [2, 1]\n";
  BOOST_TEST(refusal(gpt_job + "[plan]\nshares = [4]\n") ==
             "job.toml:14:10: shares need stages and replicas");
  BOOST_TEST(refusal(plan + "shares = [4, 4]\n") == "job.toml:16:10: 2 shares for 3 peers");
  BOOST_TEST(refusal(plan + "shares = [2, 1, 4]\n") ==
             "job.toml:16:10: shares of stage 0 make 3, but a mini-batch has 4 slices");
  BOOST_TEST(refusal(plan + "shares = [3, 1, 4]\n") == "accepted");
}

BOOST_AUTO_TEST_CASE(an_order_names_each_peer_once_and_enough_of_them) {
  BOOST_TEST(refusal(gpt_job + "[plan]\norder = [1, \"p1\"]\n") ==
             "job.toml:14:9: p1 stands twice in order");
  BOOST_TEST(refusal(gpt_job + "[plan]\nstages = 2\nreplicas = 2\norder = [1, 2, 3]\n") ==
             "job.toml:16:9: order names 3 peers, but the plan needs 4");
}

BOOST_AUTO_TEST_CASE(broken_toml_is_refused_with_its_place) {
  BOOST_TEST(refusal("steps = \n") ==
             "job.toml:1:9: error while parsing key-value pair: expected value, saw '\\n'");
  BOOST_TEST(
      refusal("steps = 1\nsteps = 2\n") ==
      "job.toml:2:9: error while parsing key-value pair: cannot redefine existing integer 'steps'");
}

BOOST_AUTO_TEST_CASE(curly_quotes_are_refused_and_letters_in_texts_and_comments_are_not) {
  BOOST_TEST(refusal("name = \u201cgr\u00fcn\u201d\n" + gpt_job) ==
             "job.toml:1:8: a letter beyond ASCII outside quotes; texts stand in straight ones, "
             "\"like this\"");
  const auto job = accepted("name = \"gr\u00fcn\"  # gr\u00f6\u00dfer\n" + gpt_job);
  BOOST_TEST(job.wanted.name == "gr\u00fcn");
}

BOOST_AUTO_TEST_CASE(a_damaged_job_is_refused_in_one_line_with_a_place) {
  perigee::random r(30, purpose::simulation, 0);
  std::size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto text = gpt_job;
    for (std::uint64_t change = 0; change <= r.below(3); ++change)
      text[r.below(text.size())] = static_cast<char>(r.below(256));
    const auto job = job_from(text, {});
    if (job) continue;
    ++refused;
    BOOST_REQUIRE_MESSAGE(job.why().what.starts_with("job.toml:"), job.why().what);
    BOOST_REQUIRE_MESSAGE(job.why().what.find('\n') == std::string::npos, job.why().what);
  }
  BOOST_TEST(refused > 2000U);
}

BOOST_AUTO_TEST_CASE(a_file_is_read_and_its_folder_is_where_paths_start) {
  const perigee::test::temporary_folder folder;
  const auto path = folder.write("job.toml", gpt_job);
  const auto job = read_job(path);
  BOOST_REQUIRE(job);
  BOOST_TEST(job->spec.data.path == folder.file("input.txt"));
}

BOOST_AUTO_TEST_CASE(an_error_in_a_file_names_its_path) {
  const perigee::test::temporary_folder folder;
  const auto path = folder.write("job.toml", with(gpt_job, "steps = 10", "steps = 0"));
  BOOST_TEST(read_job(path).why().what ==
             path + ":1:9: field 'steps' must be a whole number from 1, not 0");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_is_named) {
  const perigee::test::temporary_folder folder;
  const auto none = read_job(folder.file("none.toml"));
  BOOST_TEST(
      (none.why() == error{errc::io, "cannot read job file: open " + folder.file("none.toml") +
                                         ": No such file or directory"}));
  const auto directory = read_job(folder.file(""));
  BOOST_TEST((directory.why() == error{errc::io, "cannot read job file: open " + folder.file("") +
                                                     ": not a regular file"}));
  // Nobody may ever write to a pipe: it is not waited for.
  BOOST_REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  BOOST_TEST(read_job(folder.file("pipe")).why().what ==
             "cannot read job file: open " + folder.file("pipe") + ": not a regular file");
}

BOOST_AUTO_TEST_CASE(a_whole_number_of_any_size_is_a_number) {
  const std::string line = "clip_norm = 9007199254740993\n";
  const auto job = job_from(line + gpt_job, {});
  BOOST_REQUIRE(job);
  BOOST_TEST(job->spec.clip_norm == 9007199254740992.0);
}

BOOST_AUTO_TEST_CASE(a_huge_file_is_no_job_file) {
  const perigee::test::temporary_folder folder;
  const auto path = folder.write("job.toml", std::string((4U << 20U) + 1, '#'));
  BOOST_TEST((read_job(path).why() ==
              error{errc::malformed, path + " is larger than 4.0 MiB: not a job file"}));
}

BOOST_AUTO_TEST_CASE(the_help_describes_every_field) {
  const auto page = job_help();
  std::set<std::string> names;
  for (const field& f : job_fields()) {
    BOOST_TEST(names.insert(f.section + '.' + f.name).second, "twice: " << f.name);
    BOOST_TEST(page.find("\n  " + f.name + ' ') != std::string::npos, f.name);
    BOOST_TEST(page.find(f.about + ", e.g. " + f.example) != std::string::npos, f.name);
    BOOST_TEST(page.find(range_text(f)) != std::string::npos, f.name);
  }
  BOOST_TEST(names.size() == 43U);
}

BOOST_AUTO_TEST_CASE(an_entry_of_the_help_tells_range_default_and_use) {
  const auto page = job_help();
  const auto at = page.find("  momentum");
  BOOST_REQUIRE(at != std::string::npos);
  BOOST_TEST(page.substr(at, page.find("  nesterov") - at) ==
             "  momentum          a number from 0 to below 1; default 0; only sgd\n"
             "                      share of the last update that is kept, e.g. 0.9\n");
}

BOOST_AUTO_TEST_CASE(the_example_of_the_help_is_a_job) {
  const auto page = job_help();
  const auto at = page.find("\nExample\n");
  BOOST_REQUIRE(at != std::string::npos);
  const auto job = accepted(page.substr(at + 9));
  BOOST_TEST(job.wanted.name == "first light");
  BOOST_TEST(job.spec.model.width == 128U);
}

BOOST_AUTO_TEST_CASE(every_example_of_a_field_is_a_value_of_it) {
  for (const field& f : job_fields()) {
    const auto place = f.section.empty() ? "" : '[' + f.section + "]\n";
    const auto line = place + f.name + " = " + f.example + '\n';
    // Alone, a field is refused for what is missing beside it, but not for its own value.
    BOOST_TEST(refusal(line).find("must be") == std::string::npos, line << refusal(line));
    BOOST_TEST(refusal(line).find("unknown") == std::string::npos, line << refusal(line));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::actors::tests
