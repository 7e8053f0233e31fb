// SPDX-License-Identifier: MIT
#include "tests/metal_probes/report.h"

#include <algorithm>
#include <cstdio>

namespace traingraph::metal::probes {
namespace {

#ifdef __APPLE__
constexpr bool kIsEmulated = false;
#else
constexpr bool kIsEmulated = true;
#endif

bool begins_with_one_of(const std::string& answer, const Beginnings& all) {
  return std::ranges::any_of(all, [&](const std::string& beginning) {
    return answer.starts_with(beginning);
  });
}

const char* to_string(Weight weight) {
  switch (weight) {
    case Weight::Reliance:
      return "reliance";
    case Weight::Chance:
      return "chance";
    case Weight::Note:
      break;
  }
  return "note";
}

const char* to_string(Outcome::State state) {
  switch (state) {
    case Outcome::State::Aborted:
      return "aborted";
    case Outcome::State::NotAsked:
      return "not asked";
    case Outcome::State::Answered:
      break;
  }
  return "answered";
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string quoted(const Beginnings& texts) {
  std::string result = "[";
  for (const auto& text : texts) {
    if (result.size() > 1) result += ", ";
    result += quoted(text);
  }
  return result + ']';
}

class Fields {
 public:
  Fields& add(const char* name, const std::string& json) {
    text_ += text_.empty() ? "{" : ", ";
    text_ += quoted(name) + ": " + json;
    return *this;
  }
  std::string json() const { return text_ + '}'; }

 private:
  std::string text_;
};

std::string yes_no(bool value) { return value ? "true" : "false"; }

/// Where the constant is.
const char* file_of(const Remedy& remedy) {
  if (remedy.constant[0] == 0) return "";
  return remedy.constant[0] == 'k' ? "metal/assumptions.h"
                                   : "metal/gpu_limits.h";
}

std::string json_of(const Remedy& remedy) {
  return Fields()
      .add("constant", quoted(remedy.constant))
      .add("file", quoted(file_of(remedy)))
      .add("value", quoted(remedy.value))
      .add("text", quoted(remedy.text))
      .json();
}

std::string json_of(const Probe& probe, const Outcome& outcome) {
  return Fields()
      .add("name", quoted(probe.name))
      .add("question", quoted(probe.question))
      .add("weight", quoted(to_string(probe.weight)))
      .add("expected", quoted(expected_here(probe)))
      .add("expected_of_a_mac", quoted(probe.expected))
      .add("remedy", json_of(probe.remedy))
      .add("may_abort", yes_no(probe.may_abort))
      .add("is_slow", yes_no(probe.is_slow))
      .add("bytes", std::to_string(probe.bytes))
      .add("state", quoted(to_string(outcome.state)))
      .add("answer", quoted(outcome.answer))
      .add("seconds", std::to_string(outcome.seconds))
      .add("verdict", quoted(to_string(verdict_of(probe, outcome))))
      .json();
}

std::string remedy_text(const Remedy& remedy) {
  std::string text;
  if (remedy.constant[0] != 0) {
    text = std::string(remedy.constant) + " = " + remedy.value + " in " +
           file_of(remedy);
  }
  if (remedy.text[0] == 0) return text;
  return text.empty() ? remedy.text : text + ": " + remedy.text;
}

std::string alternatives(const Beginnings& texts) {
  std::string result;
  for (const auto& text : texts) {
    result += (result.empty() ? "\"" : " or \"") + text + '"';
  }
  return result;
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Holds:
      return "holds";
    case Verdict::Contradicted:
      return "contradicted";
    case Verdict::Chance:
      return "chance";
    case Verdict::Noted:
      return "noted";
    case Verdict::NotAsked:
      return "not asked";
    case Verdict::Crashed:
      break;
  }
  return "crashed";
}

const Beginnings& expected_here(const Probe& probe) {
  const bool has_own = kIsEmulated && !probe.emulated.empty();
  return has_own ? probe.emulated : probe.expected;
}

Verdict verdict_of(const Probe& probe, const Outcome& outcome) {
  if (outcome.state == Outcome::State::NotAsked) return Verdict::NotAsked;
  const Beginnings& expected = expected_here(probe);
  const bool is_expected = begins_with_one_of(outcome.answer, expected);
  const bool has_ended = outcome.state == Outcome::State::Aborted;
  if (has_ended && !probe.may_abort && !is_expected) return Verdict::Crashed;
  // On the emulator every answer is known: another one is a mistake of ours.
  const bool matters = probe.weight != Weight::Note || kIsEmulated;
  if (expected.empty() || !matters) return Verdict::Noted;
  if (is_expected) {
    return probe.weight == Weight::Note ? Verdict::Noted : Verdict::Holds;
  }
  return probe.weight == Weight::Chance ? Verdict::Chance
                                        : Verdict::Contradicted;
}

int Report::count(Verdict verdict) const {
  int count = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (verdict_of(probes[i], outcomes[i]) == verdict) ++count;
  }
  return count;
}

int Report::exit_code() const {
  if (machine.device.empty()) return 3;
  if (count(Verdict::Crashed) > 0) return 1;
  return count(Verdict::Contradicted) > 0 ? 2 : 0;
}

std::string Report::json() const {
  std::string all;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!all.empty()) all += ",\n    ";
    all += json_of(probes[i], outcomes[i]);
  }
  Fields counts;
  for (const Verdict verdict :
       {Verdict::Holds, Verdict::Contradicted, Verdict::Chance, Verdict::Noted,
        Verdict::NotAsked, Verdict::Crashed}) {
    counts.add(to_string(verdict), std::to_string(count(verdict)));
  }
  return "{\n  \"system\": " + quoted(machine.system) +
         ",\n  \"device\": " + quoted(machine.device) +
         ",\n  \"is_emulated\": " + yes_no(kIsEmulated) +
         ",\n  \"apple_family\": " + std::to_string(machine.apple_family) +
         ",\n  \"memory\": " + std::to_string(machine.memory) +
         ",\n  \"budget\": " + std::to_string(machine.budget) +
         ",\n  \"probes\": [\n    " + all +
         "\n  ],\n  \"counts\": " + counts.json() + "\n}\n";
}

std::string Report::summary() const {
  std::string text;
  const auto add = [&](Verdict wanted, const char* title) {
    text +=
        std::string("\n") + title + ": " + std::to_string(count(wanted)) + '\n';
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (verdict_of(probes[i], outcomes[i]) != wanted) continue;
      text += std::string(probes[i].name) + " (" + probes[i].question +
              "): expected " + alternatives(expected_here(probes[i])) +
              ", got \"" + outcomes[i].answer + "\". " +
              remedy_text(probes[i].remedy) + '\n';
    }
  };
  add(Verdict::Contradicted, "contradictions");
  add(Verdict::Chance, "chances");
  add(Verdict::Crashed, "crashes");
  text += "\nnot asked: " + std::to_string(count(Verdict::NotAsked)) + '\n';
  return text;
}

}  // namespace traingraph::metal::probes
