package simtinker

import (
	"strings"
	"time"
)

// take is the API's part of a call: what it checks at once, and a future for the engine.
func (s *Service) take(what string, c call) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanUp()
	_, alive := s.sessions[c.Session]
	switch what {
	case "create_session":
		id := s.id("session")
		s.sessions[id] = time.Now()
		return 200, map[string]string{"session_id": id}
	case "session_heartbeat":
		if alive {
			s.sessions[c.Session] = time.Now()
		}
		return 200, struct{}{}
	case "create_model":
		if !alive {
			return 404, detail("Session not found")
		}
		c.Model = s.id("model")
		s.known[c.Model] = c.Session
	case "asample":
		c.Path = sampler(c.From)
		c.Model, _, _ = strings.Cut(c.Path, "/")
	}
	if _, ok := s.known[c.Model]; !ok {
		return 404, detail("Model not found")
	}
	if status, words := s.name(what, &c); status != 200 {
		return status, detail(words)
	}
	f, id := &future{}, s.id("")
	s.futures[id] = f
	if !s.down {
		f.status, f.body = s.work(what, c, s.saves)
	}
	return 200, map[string]string{"request_id": id, "model_id": c.Model}
}

// name makes the key of a save out of a call's path, and checks it.
func (s *Service) name(what string, c *call) (status int, words string) {
	switch what {
	case "save_weights":
		c.Path = c.Model + "/weights/" + c.Path
	case "save_weights_for_sampler":
		c.Path = c.Model + "/sampler/" + c.Path
	case "load_weights":
		c.Path = strings.TrimPrefix(c.Path, "tinker://")
	case "asample":
	default:
		return 200, ""
	}
	found, taken := s.saves[c.Path]
	switch saves := strings.HasPrefix(what, "save"); {
	case saves && taken:
		return 409, "Checkpoint already exists for model"
	case saves:
		s.saves[c.Path] = nil
	case !taken:
		return 404, "Checkpoint not found"
	case found == nil:
		return 425, "Checkpoint is still being created"
	}
	return 200, ""
}

// sampler is the key of tinker://MODEL/NAME or tinker://MODEL/sampler_weights/NAME.
func sampler(path string) string {
	model, name, _ := strings.Cut(strings.TrimPrefix(path, "tinker://"), "/")
	return model + "/sampler/" + strings.TrimPrefix(name, "sampler_weights/")
}

// cleanUp unloads the models of sessions that do not beat.
func (s *Service) cleanUp() {
	for id, heard := range s.sessions {
		if time.Since(heard) <= silence {
			continue
		}
		delete(s.sessions, id)
		for m, session := range s.known {
			if session == id {
				delete(s.models, m)
			}
		}
	}
}
