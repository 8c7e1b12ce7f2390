ARG VLLM=v0.32.0
FROM vllm/vllm-openai:${VLLM}
ENV HF_HOME=/models HF_HUB_OFFLINE=1
COPY --chown=0:0 chat-template.jinja /etc/vllm/
EXPOSE 8000
ENTRYPOINT ["vllm", "serve"]
CMD ["/models/chat", "--chat-template", "/etc/vllm/chat-template.jinja", \
     "--kv-offloading-backend", "native", "--kv-offloading-size", "24"]
